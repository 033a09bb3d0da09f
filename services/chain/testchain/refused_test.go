package testchain_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/execution"
)

// unsigned is a transaction of an account without its key.
func (s *suite) unsigned(tx *types.DynamicFeeTx) []byte {
	s.t.Helper()
	tx.ChainID, tx.GasFeeCap = s.Genesis().Config.ChainID, big.NewInt(1e10)
	marked, err := execution.Impersonate(types.NewTx(tx), to, types.LatestSigner(s.Genesis().Config))
	if err != nil {
		s.t.Fatal(err)
	}
	raw, err := marked.MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	return raw
}

// blocks checks how many there are.
func (s *suite) blocks(want uint64) {
	s.t.Helper()
	if n := s.Head().Number.Uint64(); n != want {
		s.t.Errorf("%d blocks, want %d", n, want)
	}
}

// A transaction of an impersonated account that no block can have is refused, and the next one is mined.
func TestImpersonatedJudged(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	s.want("null", "anvil_setBalance", to, "0xde0b6b3a7640000")
	s.want("null", "anvil_impersonateAccount", to)
	for _, c := range []struct {
		tx   types.DynamicFeeTx
		want error
	}{
		{types.DynamicFeeTx{To: &from, Gas: 20_999}, core.ErrIntrinsicGas},
		{types.DynamicFeeTx{Gas: 20_000_000, Data: make([]byte, params.MaxInitCodeSize+1)}, vm.ErrMaxInitCodeSizeExceeded},
		{types.DynamicFeeTx{To: &from, Gas: 21_000, GasTipCap: big.NewInt(1e11)}, core.ErrTipAboveFeeCap},
	} {
		if done := s.Submit(t.Context(), [][]byte{s.unsigned(&c.tx)})[0]; !errors.Is(done.Err, c.want) {
			t.Errorf("%v, want %v", done.Err, c.want)
		}
	}
	s.blocks(0)
	if done := s.Submit(t.Context(), [][]byte{s.unsigned(&types.DynamicFeeTx{To: &from, Gas: 21_000})})[0]; done.Err != nil {
		t.Error(done.Err)
	}
	s.blocks(1)
}

// The transactions of an account that was given code are mined, and traced, as anvil and Hardhat have it.
func TestSenderWithCode(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.want("null", "hardhat_setCode", from, "0x00")
	hash := s.send(1)
	s.blocks(1)
	s.balance(1)
	if traced := s.client().ask("debug_traceTransaction", `["`+hash.Hex()+`",{"tracer":"callTracer"}]`); !strings.Contains(traced, `"type":"CALL"`) {
		t.Error(traced)
	}
	before := s.image()
	s.close()
	s = open(t, dir)
	defer s.close()
	if after := s.image(); after != before {
		t.Errorf("it was %swhich is now %s", before, after)
	}
}

// A transaction that cannot be executed behind those before it is refused; one for which the block has no gas
// left waits.
func TestRefusedByBlock(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.close()
	burns, half := common.Address{1}, new(big.Int).Mul(big.NewInt(6000), big.NewInt(params.Ether))
	s.want("null", "anvil_setCode", burns, "0xfe") // uses all of its gas
	s.call("evm_setAutomine", false)
	s.sign(&types.DynamicFeeTx{Gas: 20_000_000, To: &burns})
	s.sign(&types.DynamicFeeTx{Gas: 20_000_000, To: &to, Value: half})
	s.call("evm_setAutomine", true)
	s.blocks(1)
	raw := s.signed(&types.DynamicFeeTx{Gas: 21_000, To: &to, Value: half})
	if done := s.Submit(t.Context(), [][]byte{raw})[0]; !errors.Is(done.Err, core.ErrInsufficientFunds) {
		t.Errorf("%v, want %v", done.Err, core.ErrInsufficientFunds)
	}
	s.blocks(1)
	if executable, _ := s.Stats(); executable != 1 {
		t.Errorf("%d transactions wait, want 1", executable)
	}
	s.send(1)
	s.blocks(2)
	s.call("evm_setAutomine", false)
	s.sign(&types.DynamicFeeTx{Gas: 20_000_000, To: &burns})
	s.sign(&types.DynamicFeeTx{Gas: 20_000_000, To: &burns})
	s.call("evm_setAutomine", true)
	s.blocks(3)
	waits := s.sign(&types.DynamicFeeTx{Gas: 20_000_000, To: &to})
	s.blocks(4)
	if s.Waiting(waits) == nil {
		t.Error("the transaction for which the block had no gas does not wait")
	}
}

// A journal of before has transactions in it that were never mined: their accounts had code, or they had too
// little gas.
func TestRefusedBefore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	defer func() { s.close() }()
	same := func() {
		t.Helper()
		before := s.image()
		s.close()
		s = open(t, dir)
		if after := s.image(); after != before {
			t.Errorf("it was %swhich is now %s", before, after)
		}
	}
	s.want("null", "anvil_setBalance", to, "0xde0b6b3a7640000")
	s.want("null", "anvil_impersonateAccount", to)
	s.want("null", "anvil_setCode", from, "0x00")
	for _, raw := range [][]byte{s.unsigned(&types.DynamicFeeTx{To: &from, Gas: 20_999}), s.signed(&types.DynamicFeeTx{Gas: 21_000, To: &common.Address{1}})} {
		if err := s.Before("transaction", `["`+hexutil.Encode(raw)+`"]`); err != nil {
			t.Fatal(err)
		}
	}
	s.want(`"0x0"`, "evm_mine")
	s.blocks(3)
	if executable, _ := s.Stats(); executable != 2 {
		t.Errorf("%d transactions wait, want 2", executable)
	}
	same()
	s.send(1)
	if nonce, _ := s.Nonce(from); nonce != 2 {
		t.Errorf("with a transaction of after, the nonce is %d, want 2", nonce)
	}
	s.balance(1e18 + 1)
	same()
}
