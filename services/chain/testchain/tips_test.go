package testchain_test

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
)

// A tip is suggested by the blocks that are there, not by those of the same number that were taken back.
func TestTipsAfterRevert(t *testing.T) {
	s := open(t, t.TempDir()).client()
	defer s.close()
	send := func(tip int64) {
		t.Helper()
		nonce, _ := s.Nonce(from)
		raw, err := types.MustSignNewTx(key, types.LatestSigner(s.Genesis().Config), &types.DynamicFeeTx{
			ChainID: s.Genesis().Config.ChainID, Nonce: nonce, GasFeeCap: big.NewInt(1e11), GasTipCap: big.NewInt(tip), Gas: 21_000, To: &to,
		}).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if done := s.Submit(t.Context(), [][]byte{raw})[0]; done.Err != nil {
			t.Fatal(done.Err)
		}
	}
	suggests := func(want string) {
		t.Helper()
		if got := s.ask("eth_maxPriorityFeePerGas", `[]`); got != want {
			t.Errorf("the tip is %s, want %s", got, want)
		}
	}
	s.want(`"0x0"`, "evm_snapshot")
	send(5e9)
	suggests(`"0x12a05f200"`)
	s.want("true", "evm_revert", "0x0")
	send(7e9)
	suggests(`"0x1a13b8600"`)
	s.want("null", "anvil_reset")
	send(9e9)
	suggests(`"0x218711a00"`)
}
