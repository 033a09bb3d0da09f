package testchain_test

import (
	"context"
	"errors"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"

	"dyno/services/chain/execution"
	"dyno/services/chain/genesis"
	"dyno/services/chain/limiter"
	"dyno/services/chain/testchain"
)

// slow is a fork of a chain with a counter, which has read the accounts but not the contract. The next answer
// of the other node after stop comes when goOn is called.
type slow struct {
	*client
	stop  func()
	asked chan struct{} // closed when the other node has been asked since
	goOn  func()
	calls atomic.Int64 // that the other node answered
}

func openSlow(t *testing.T) *slow {
	t.Helper()
	up := open(t, t.TempDir()).client()
	t.Cleanup(up.close)
	up.want("null", "anvil_setCode", logging, counter)
	up.count()
	var stopped atomic.Bool
	answers := make(chan struct{})
	s := &slow{asked: make(chan struct{}), stop: func() { stopped.Store(true) }, goOn: sync.OnceFunc(func() { close(answers) })}
	url, end := up.serve(func(string, map[string]any) {
		s.calls.Add(1)
		if stopped.CompareAndSwap(true, false) {
			close(s.asked)
			<-answers
		}
	})
	t.Cleanup(end)
	s.client = open(t, t.TempDir()).client()
	t.Cleanup(s.close)
	t.Cleanup(s.goOn)
	if got := s.forkOf(url); got != "null" {
		t.Fatal(got)
	}
	s.send(1) // reads the contracts of the rules, and the accounts
	return s
}

// contract is a transaction that calls the counter.
func (s *slow) contract() []byte {
	s.t.Helper()
	return s.signed(&types.DynamicFeeTx{Gas: 100_000, To: &logging})
}

// submit submits a transaction, and returns its error.
func (s *slow) submit(raw []byte) error { return s.Submit(context.Background(), [][]byte{raw})[0].Err }

// unlocked waits until a call asks the other node, and fails if it ends before, or if others wait for it.
func (s *slow) unlocked(call <-chan error) {
	s.t.Helper()
	select {
	case <-s.asked:
	case err := <-call:
		s.t.Fatalf("the call ends without a question to the other node: %v", err)
	}
	if n := s.Head().Number.Uint64(); n != 2 {
		s.t.Errorf("the last block is %d", n)
	}
	s.want("null", "anvil_setBalance", to, "0x7")
	if got := s.ask("eth_getBalance", `["`+to.Hex()+`","latest"]`); got != `"0x7"` {
		s.t.Errorf("the balance is %s", got)
	}
}

// The time of an execution does not pass while another node is asked, within bounds.
func TestForkPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := limiter.WithTimeout(t.Context(), 5*time.Second, testchain.Patience)
		defer cancel()
		for range 3 {
			question, done, err := testchain.Ask(ctx)
			if err != nil {
				t.Fatal(err)
			}
			<-question.Done() // by its own bound
			done()
		}
		if time.Sleep(4 * time.Second); ctx.Err() != nil {
			t.Error("the time passed while another node was asked")
		}
		if <-ctx.Done(); !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Error(context.Cause(ctx))
		}
	})
}

// While a call waits for the node that is forked, others read what is known, and change the chain.
func TestForkUnlocked(t *testing.T) {
	s := openSlow(t)
	raw, sent := s.contract(), make(chan error, 1)
	s.stop()
	go func() { sent <- s.submit(raw) }()
	s.unlocked(sent)
	if _, _, err := s.PendingState(t.Context()); err != nil {
		t.Error(err)
	}
	s.goOn()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if got := s.slot("latest"); got != "2" {
		t.Errorf("the slot has %s", got)
	}
}

// A client that has left does not have the next block count as read, and does not wait for another's reads.
func TestForkLeft(t *testing.T) {
	s := openSlow(t)
	s.want("null", "evm_setAutomine", false)
	if err := s.submit(s.contract()); err != nil {
		t.Fatal(err)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	for range 8 { // it may be the one that reads, or one that waits for it
		if _, _, err := s.PendingState(left); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has left gets %v", err)
		}
	}
	looked := make(chan error, 1)
	s.stop()
	go func() {
		_, _, err := s.PendingState(context.Background())
		looked <- err
	}()
	s.unlocked(looked)
	if _, _, err := s.PendingState(left); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has left waits, and gets %v", err)
	}
	s.goOn()
	if err := <-looked; err != nil {
		t.Error(err)
	}
}

// What makes no block executes nothing of what waits: the other node is not asked for it.
func TestForkNotExecuted(t *testing.T) {
	s := openSlow(t)
	s.want("null", "evm_setAutomine", false)
	waits := s.contract()
	if err := s.submit(waits); err != nil {
		t.Fatal(err)
	}
	s.want("null", "anvil_setNextBlockBaseFeePerGas", "0x174876e8000") // beyond what the transaction pays
	s.want("null", "evm_setAutomine", true)
	s.want("null", "anvil_setNextBlockBaseFeePerGas", "0x3b9aca00")
	unsigned := types.NewTx(&types.DynamicFeeTx{ChainID: s.Genesis().Config.ChainID, Gas: 100_000, GasFeeCap: big.NewInt(1e11), To: &logging})
	unsigned, err := execution.Impersonate(unsigned, genesis.Accounts[3], types.LatestSigner(s.Genesis().Config))
	if err != nil {
		t.Fatal(err)
	}
	marked, err := unsigned.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	before := s.calls.Load()
	for _, c := range []struct {
		what string
		raw  []byte
		want error
	}{
		{"one that is known", waits, txpool.ErrAlreadyKnown},
		{"one behind a gap", s.signed(&types.DynamicFeeTx{Nonce: 5, Gas: 100_000, To: &logging}), nil},
		{"one of an account that is not impersonated", marked, types.ErrInvalidSig},
	} {
		if err := s.submit(c.raw); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	s.want("null", "evm_setAutomine", false)
	if got := s.calls.Load(); got != before {
		t.Errorf("the other node was asked %d times", got-before)
	}
	s.want("null", "evm_setAutomine", true)
	if got := s.slot("latest"); got != "2" || s.calls.Load() == before {
		t.Errorf("the slot has %s, after %d questions", got, s.calls.Load()-before)
	}
}
