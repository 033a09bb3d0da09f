package testchain_test

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/genesis"
	"dyno/services/chain/testchain"
)

// offer sends a transfer of a development account, with a tip.
func (s *suite) offer(account int, nonce uint64, tip int64) common.Hash {
	s.t.Helper()
	config := s.Genesis().Config
	raw, err := types.MustSignNewTx(genesis.Keys()[account], types.LatestSigner(config), &types.DynamicFeeTx{
		ChainID: config.ChainID, Nonce: nonce, GasFeeCap: big.NewInt(1e11), GasTipCap: big.NewInt(tip), Gas: 21_000, To: &to, Value: big.NewInt(1),
	}).MarshalBinary()
	if err != nil {
		s.t.Fatal(err)
	}
	done := s.Submit(context.Background(), [][]byte{raw})[0]
	if done.Err != nil {
		s.t.Fatal(done.Err)
	}
	return done.Hash
}

// A block has what waits by its tips, of each sender by its nonces, and in a journal of before as it came; so
// has the block that lies ahead.
func TestOrder(t *testing.T) {
	for _, before := range []bool{false, true} {
		if before {
			defer testchain.BeginBefore()()
		}
		dir := t.TempDir()
		s := open(t, dir)
		s.want("null", "evm_setAutomine", false)
		a0, b0, a1, c0, d0 := s.offer(1, 0, 5), s.offer(2, 0, 3), s.offer(1, 1, 100), s.offer(3, 0, 7), s.offer(4, 0, 3)
		want, order := []common.Hash{c0, a0, a1, b0, d0}, "fees"
		if before {
			want, order = []common.Hash{a0, b0, a1, c0, d0}, "fifo"
		}
		if info := s.call("anvil_nodeInfo"); !strings.Contains(info, `"transactionOrder":"`+order+`"`) {
			t.Error(info)
		}
		has := func(what string, block *types.Block) {
			t.Helper()
			for i, tx := range block.Transactions() {
				if len(block.Transactions()) != len(want) || tx.Hash() != want[i] {
					t.Errorf("%s (of before: %t) has %d transactions, and %v at %d, want %v", what, before, len(block.Transactions()), tx.Hash(), i, want)
					return
				}
			}
		}
		ahead, _, err := s.PendingBlock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		has("the block ahead", ahead)
		s.want(`"0x0"`, "evm_mine")
		block, err := s.Block(1)
		if err != nil {
			t.Fatal(err)
		}
		has("the block", block)
		image := s.image()
		for _, checkpoint := range []int{1, 1 << 30} {
			s.close()
			s = openAs(t, dir, testchain.Options{Checkpoint: checkpoint, Fail: func(err error) { t.Error(err) }})
			if again := s.image(); again != image {
				t.Errorf("it was %swhich is now %s", image, again)
			}
			if info := s.call("anvil_nodeInfo"); !strings.Contains(info, `"transactionOrder":"`+order+`"`) {
				t.Error(info)
			}
		}
		s.close()
	}
}
