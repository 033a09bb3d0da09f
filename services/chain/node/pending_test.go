package node

import (
	"context"
	"errors"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"dyno/services/chain/chaintest"
	"dyno/services/chain/genesis"
)

// slow is a policy that seals one block, and then none for as long as a test takes.
func slow(t *testing.T) *Policy {
	p, err := NewPolicy("timer", Sealing{Interval: time.Hour, Max: 100})
	if err != nil {
		t.Fatal(err)
	}
	p.last = time.Now()
	return p
}

// pending checks what the next block and the state after all that waits have.
func (w *world) pending(at common.Address, wei, nonce uint64, inBlock int) {
	w.t.Helper()
	db, header, err := w.PendingState(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if got := db.GetBalance(at); got.Uint64() != wei {
		w.t.Errorf("the balance is %v, want %d", got, wei)
	}
	if got := db.GetNonce(w.from.Address()); got != nonce {
		w.t.Errorf("the nonce is %d, want %d", got, nonce)
	}
	block, receipts, err := w.PendingBlock(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if block.NumberU64() != header.Number.Uint64() || block.ParentHash() != w.Chain().Head().Hash() {
		w.t.Errorf("block %d over %v, and the state is of %d", block.NumberU64(), block.ParentHash(), header.Number)
	}
	if len(block.Transactions()) != inBlock || len(receipts) != inBlock {
		w.t.Errorf("the block has %d transactions and %d receipts, want %d", len(block.Transactions()), len(receipts), inBlock)
	}
}

// All methods of the present see what was accepted, in one state.
func TestPending(t *testing.T) {
	w := open(t, begin{dir: t.TempDir(), options: Options{Sealing: slow(t)}})
	defer w.close()
	to := common.Address{1}
	w.pending(to, 0, 0, 0)
	for n := range uint64(5) {
		if err := w.send(w.from.Send(to, 7)); err != nil {
			t.Fatal(err)
		}
		w.pending(to, 7*(n+1), n+1, int(n+1))
	}
	// One that reverts uses its nonce, and one that cannot pay does not.
	create := w.from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 5, GasFeeCap: chaintest.FeeCap, GasTipCap: chaintest.TipCap, Gas: 100_000, Data: common.FromHex("60006000fd")})
	if err := w.send(create); err != nil {
		t.Fatal(err)
	}
	w.pending(to, 35, 6, 6)
	db, _, err := w.PendingState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db.SetNonce(w.from.Address(), 100, 0) // the caller's own
	w.pending(to, 35, 6, 6)
}

// What the next block has no room for is executed, too, and the nonces agree with the pool's.
func TestPendingBeyondBlock(t *testing.T) {
	g := genesis.Funded(10*params.TxGas, genesis.Accounts[:])
	w := open(t, begin{dir: t.TempDir(), genesis: g, options: Options{Sealing: slow(t)}})
	defer w.close()
	to := common.Address{1}
	var txs []*types.Transaction
	for range 25 {
		txs = append(txs, w.from.Send(to, 1))
	}
	if err := w.send(txs...); err != nil {
		t.Fatal(err)
	}
	w.pending(to, 25, 25, 10)
	if err := w.send(w.from.Send(to, 1)); err != nil {
		t.Fatal(err)
	}
	w.pending(to, 26, 26, 10)
	if nonce, ok := w.Nonce(w.from.Address()); !ok || nonce != 26 {
		t.Errorf("the pool says nonce %d", nonce)
	}
}

// Right after an answer the transaction is seen, however blocks are sealed meanwhile.
func TestPendingWhileSealing(t *testing.T) {
	w := open(t, begin{dir: t.TempDir()})
	defer w.close()
	to := common.Address{1}
	for n := range uint64(30) {
		if err := w.send(w.from.Send(to, 1)); err != nil {
			t.Fatal(err)
		}
		db, _, err := w.PendingState(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := db.GetBalance(to).Uint64(); got != n+1 {
			t.Fatalf("the balance is %d after %d transfers", got, n+1)
		}
	}
}

// With as many reads as may wait, a further one is refused, and Close waits for the one that executes, and
// releases what it has left.
func TestPendingClosed(t *testing.T) {
	w := open(t, begin{dir: t.TempDir(), options: Options{Sealing: slow(t)}})
	if err := w.send(w.from.Send(common.Address{1}, 1)); err != nil {
		t.Fatal(err)
	}
	inside, leave := make(chan struct{}), make(chan struct{})
	var closed atomic.Bool
	var reads sync.WaitGroup
	reads.Go(func() {
		if err := w.lookAhead(t.Context(), func(a *ahead) {
			close(inside)
			<-leave
			if closed.Load() {
				t.Error("Close does not wait")
			}
		}); err != nil {
			t.Error(err)
		}
	})
	<-inside
	results := make(chan error, mostLooking+1)
	for range mostLooking + 1 {
		reads.Go(func() {
			_, _, err := w.PendingState(t.Context())
			results <- err
		})
	}
	if err := <-results; !errors.Is(err, ErrPending) {
		t.Errorf("one too many: %v", err)
	}
	reads.Go(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
	})
	close(leave)
	reads.Wait()
	if w.ahead.draft != nil || w.ahead.beyond != nil {
		t.Error("the draft is not released")
	}
	if _, _, err := w.PendingState(t.Context()); !errors.Is(err, errStopped) {
		t.Errorf("after Close: %v", err)
	}
}

// What lies ahead is bounded in gas, whatever gas a block has, and a caller that has gone leaves the rest
// to the next one.
func TestPendingBounded(t *testing.T) {
	w := open(t, begin{dir: t.TempDir(), genesis: genesis.Funded(1<<40, genesis.Accounts[:]), options: Options{Sealing: slow(t)}})
	defer w.close()
	to := common.Address{1}
	var txs []*types.Transaction
	for range 3 {
		txs = append(txs, w.from.Send(to, 1))
	}
	huge := w.from.Sign(&types.DynamicFeeTx{ChainID: big.NewInt(chaintest.ChainID), Nonce: 3, GasFeeCap: chaintest.FeeCap, GasTipCap: chaintest.TipCap, Gas: gasAhead + 1, To: &to, Value: big.NewInt(1)})
	if err := w.send(append(txs, huge)...); err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := w.PendingState(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
	w.pending(to, 3, 3, 3)
	if nonce, ok := w.Nonce(w.from.Address()); !ok || nonce != 4 {
		t.Errorf("the pool says nonce %d", nonce)
	}
}
