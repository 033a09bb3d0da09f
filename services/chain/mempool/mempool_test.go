package mempool_test

import (
	"errors"
	"math/big"
	"slices"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"dyno/services/chain/mempool"
)

// chain is the accounts after a head.
type chain struct {
	mu       sync.Mutex
	accounts map[common.Address]mempool.Account
	reads    int
	err      error
}

func (c *chain) account(from common.Address) (mempool.Account, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	a := c.accounts[from]
	if a.Balance == nil {
		a.Balance = new(uint256.Int)
	}
	return a, c.err
}

func (c *chain) set(from common.Address, nonce, balance uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accounts[from] = mempool.Account{Nonce: nonce, Balance: uint256.NewInt(balance)}
}

// fixture is a pool over accounts a, b, c, .. of 10^12 wei.
type fixture struct {
	t testing.TB
	*chain
	*mempool.Pool
}

// roomy bounds a pool that tests do not fill.
var roomy = mempool.Options{Transactions: 1 << 17, Bytes: 256 << 20}

func newFixture(t testing.TB, o mempool.Options) *fixture {
	c := &chain{accounts: map[common.Address]mempool.Account{}}
	for name := byte('a'); name <= 'z'; name++ {
		c.set(address(name), 0, 1e12)
	}
	return &fixture{t, c, mempool.New(o, c.account)}
}

func address(name byte) common.Address { return common.Address{19: name} }

// entry is a transfer of 1 wei with 21,000 gas.
func entry(from byte, nonce uint64, feeCap, tip int64) *mempool.Entry {
	return entryOf(from, &types.DynamicFeeTx{
		Nonce: nonce, GasFeeCap: big.NewInt(feeCap), GasTipCap: big.NewInt(tip), Gas: 21_000, Value: big.NewInt(1),
		Data: []byte{from}, // or two senders' transactions would have one hash
	})
}

func entryOf(from byte, data types.TxData) *mempool.Entry {
	tx := types.NewTx(data)
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return mempool.NewEntry(tx, address(from), raw)
}

// add adds and confirms entries.
func (f *fixture) add(entries ...*mempool.Entry) {
	f.t.Helper()
	for _, e := range entries {
		if err := f.Add(e, big.NewInt(1)); err != nil {
			f.t.Fatalf("%c %d: %v", e.From[19], e.Tx.Nonce(), err)
		}
		f.Confirm(e)
	}
}

func (f *fixture) refused(e *mempool.Entry, want error) {
	f.t.Helper()
	if err := f.Add(e, big.NewInt(1)); !errors.Is(err, want) {
		f.t.Fatalf("%c %d: %v, want %v", e.From[19], e.Tx.Nonce(), err, want)
	}
}

// next checks what a block takes.
func (f *fixture) next(want ...*mempool.Entry) {
	f.t.Helper()
	f.same(f.Next(big.NewInt(1), 30_000_000, 1000), want...)
}

func (f *fixture) same(got []*mempool.Entry, want ...*mempool.Entry) {
	f.t.Helper()
	if !slices.Equal(got, want) {
		f.t.Fatalf("got %s, want %s", show(got), show(want))
	}
}

func show(entries []*mempool.Entry) (s string) {
	for _, e := range entries {
		s += string(e.From[19]) + e.Tx.GasFeeCap().String() + "/" + e.Tx.GasTipCap().String() + " "
	}
	return s
}

// mine makes a block of entries.
func (f *fixture) mine(entries ...*mempool.Entry) {
	for _, e := range entries {
		a, _ := f.account(e.From)
		f.set(e.From, e.Tx.Nonce()+1, a.Balance.Uint64()-e.Cost.Uint64())
	}
	f.Sealed(entries, nil)
}

func (f *fixture) stats(executable, queued, offered int) {
	f.t.Helper()
	if s := f.Stats(); s.Executable != executable || s.Queued != queued || s.Offered != offered {
		f.t.Fatalf("%+v, want %d executable, %d queued, %d offered", s, executable, queued, offered)
	}
}

func TestOrder(t *testing.T) {
	f := newFixture(t, roomy)
	a0, a1, a2 := entry('a', 0, 100, 5), entry('a', 1, 100, 50), entry('a', 2, 100, 1)
	b0, b1 := entry('b', 0, 100, 7), entry('b', 1, 4, 4)
	c0 := entry('c', 0, 100, 5)
	f.add(a2, a1, b1, b0, a0, c0)
	f.stats(6, 0, 3)
	f.next(b0, a0, a1, c0, b1, a2) // b1 pays 3 above the base fee
	f.next()
	f.Release()
	f.same(f.Next(big.NewInt(5), 30_000_000, 2), b0, a0)
	f.same(f.Next(big.NewInt(5), 30_000_000, 10), a1, c0, a2)
	f.stats(6, 0, 1) // b1, below the base fee
	f.mine(b0, a0, a1, c0, a2)
	f.stats(1, 0, 1)
	f.next(b1)
	f.mine(b1)
	f.stats(0, 0, 0)
}

func TestGas(t *testing.T) {
	f := newFixture(t, roomy)
	large := entryOf('a', &types.DynamicFeeTx{GasFeeCap: big.NewInt(100), GasTipCap: big.NewInt(9), Gas: 50_000})
	small := entry('b', 0, 100, 1)
	after := entry('a', 1, 100, 50)
	f.add(large, small, after)
	f.same(f.Next(big.NewInt(1), 49_999, 10), small)
	f.same(f.Next(big.NewInt(1), 71_000, 10), large, after)
}

func TestRefusals(t *testing.T) {
	f := newFixture(t, roomy)
	f.set(address('a'), 5, 10_000_000)
	a5 := entry('a', 5, 100, 10)
	f.refused(entry('a', 4, 100, 10), core.ErrNonceTooLow)
	f.refused(entry('a', 5+1025, 100, 10), core.ErrNonceTooHigh)
	f.refused(entry('a', 5, 0, 0), core.ErrFeeCapTooLow)
	f.refused(entry('a', 5, 1000, 10), core.ErrInsufficientFunds)
	f.add(a5)
	f.refused(a5, txpool.ErrAlreadyKnown)
	f.refused(entry('a', 6, 400, 10), core.ErrInsufficientFunds) // with a5
	f.refused(entry('a', 5, 109, 11), txpool.ErrReplaceUnderpriced)
	f.refused(entry('a', 5, 110, 10), txpool.ErrReplaceUnderpriced)
	f.next(a5)
	f.refused(entry('a', 5, 110, 11), txpool.ErrReplaceUnderpriced) // it is being sealed
	f.refused(a5, txpool.ErrAlreadyKnown)
	f.mine(a5)
	f.refused(a5, core.ErrNonceTooLow)
	f.err = errors.New("disk")
	f.refused(entry('a', 6, 100, 10), f.err)
	f.stats(0, 0, 0)
}

func TestFundsThatArrive(t *testing.T) {
	f := newFixture(t, roomy)
	f.set(address('a'), 0, 3_000_000)
	f.add(entry('a', 0, 100, 10))
	f.set(address('a'), 0, 6_000_000) // another sender's block
	f.add(entry('a', 1, 100, 10))
}

func TestSenderLimit(t *testing.T) {
	f := newFixture(t, roomy)
	for nonce := range uint64(1024) {
		f.add(entry('a', nonce+1, 100, 10))
	}
	f.stats(0, 1024, 0)
	f.add(entry('a', 0, 100, 10)) // fills the gap
	f.stats(1025, 0, 1)
	restarted := newFixture(t, roomy)
	for _, e := range f.Entries() {
		if err := restarted.Restore(e); err != nil {
			t.Fatal(err)
		}
	}
	f = newFixture(t, roomy)
	for nonce := range uint64(1024) {
		f.add(entry('a', nonce, 100, 10))
	}
	f.refused(entry('a', 1024, 100, 10), txpool.ErrAccountLimitExceeded)
}

func TestReplace(t *testing.T) {
	f := newFixture(t, roomy)
	old, second, third := entry('a', 0, 100, 10), entry('a', 0, 110, 11), entry('a', 0, 121, 13)
	after := entry('a', 1, 100, 10)
	f.add(old, after)
	add := func(e *mempool.Entry) {
		if err := f.Add(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	add(second)
	f.next() // it is not known which of the two is sealed
	add(third)
	f.Withdraw(second)
	f.Withdraw(third)
	f.next(old, after)
	f.Release()
	add(second)
	add(third)
	f.Confirm(second)
	if f.Get(old.Tx.Hash()) != nil || f.Get(third.Tx.Hash()) != third {
		t.Fatal("what was replaced is there, or what replaces is not")
	}
	f.same(f.Entries(), second, third, after)
	f.Withdraw(third)
	f.next(second, after)
	f.mine(second, after)
	f.stats(0, 0, 0)
}

func TestWithdrawLeavesGap(t *testing.T) {
	f := newFixture(t, roomy)
	a0, a1 := entry('a', 0, 100, 10), entry('a', 1, 100, 10)
	if err := f.Add(a0, nil); err != nil {
		t.Fatal(err)
	}
	f.add(a1)
	f.stats(2, 0, 0)
	if nonce, ok := f.Nonce(address('a')); nonce != 2 || !ok {
		t.Fatal(nonce, ok)
	}
	f.Withdraw(a0)
	f.stats(0, 1, 0)
	f.Confirm(a0) // which is gone
	f.next()
	f.add(a0)
	f.next(a0, a1)
}

func TestFull(t *testing.T) {
	f := newFixture(t, mempool.Options{Transactions: 3, Bytes: roomy.Bytes})
	a0, b1, c1 := entry('a', 0, 100, 10), entry('b', 1, 100, 10), entry('c', 1, 90, 10)
	f.add(a0, b1, c1)
	f.refused(entry('d', 0, 90, 10), txpool.ErrUnderpriced)
	f.refused(entry('d', 5000, 200, 10), core.ErrNonceTooHigh) // evicts nothing
	f.stats(1, 2, 1)
	d0 := entry('d', 0, 91, 10)
	f.add(d0)
	if f.Get(c1.Tx.Hash()) != nil {
		t.Fatal("the worst-paying one was not evicted")
	}
	f.add(entry('b', 1, 120, 20), entry('a', 0, 110, 11)) // replacements need no room
	b0 := entry('b', 0, 130, 10)                          // evicts what it would make executable
	f.add(b0)
	f.stats(3, 0, 3)
	f.refused(entry('e', 0, 1000, 10), mempool.ErrFull)
	f = newFixture(t, mempool.Options{Transactions: roomy.Transactions, Bytes: int64(len(a0.Raw))})
	f.add(a0)
	f.refused(d0, mempool.ErrFull)
}

func TestRestore(t *testing.T) {
	f := newFixture(t, mempool.Options{Transactions: 1, Bytes: roomy.Bytes})
	f.set(address('a'), 1, 3_000_000) // enough for one
	a0, a1, again, a2 := entry('a', 0, 100, 10), entry('a', 1, 100, 10), entry('a', 1, 110, 11), entry('a', 2, 100, 10)
	for _, e := range []*mempool.Entry{a1, again, a2} {
		if err := f.Restore(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Restore(a0); !errors.Is(err, core.ErrNonceTooLow) {
		t.Fatal(err)
	}
	f.next(again, a2)
	f.stats(2, 0, 0)
	f.refused(entry('b', 0, 100, 10), mempool.ErrFull)
}

func TestManyMisfits(t *testing.T) {
	f := newFixture(t, roomy)
	for i := range 200 {
		from := common.Address{0: 1, 1: byte(i)}
		f.accounts[from] = mempool.Account{Balance: uint256.NewInt(1e12)}
		tx := types.NewTx(&types.DynamicFeeTx{GasFeeCap: big.NewInt(100), GasTipCap: big.NewInt(9), Gas: 50_000, Data: from[:]})
		f.add(mempool.NewEntry(tx, from, nil))
	}
	f.add(entry('a', 0, 100, 1))
	if taken := f.Next(nil, 30_000, 10); len(taken) != 0 {
		t.Fatal("the search went on through all senders")
	}
	if taken := f.Next(nil, 50_000, 10); len(taken) != 1 {
		t.Fatal("what did not fit is gone")
	}
}

func TestFailed(t *testing.T) {
	f := newFixture(t, roomy)
	a0, a1, b0 := entry('a', 0, 100, 10), entry('a', 1, 100, 10), entry('b', 0, 100, 1)
	f.add(a0, a1, b0)
	f.next(a0, a1, b0)
	f.Failed(a0)
	f.Failed(a1)
	f.mine(b0)
	for wait := 1; wait <= 256; wait *= 2 {
		for range wait - 1 { // the round was the first block
			f.next()
			f.mine()
		}
		f.next(a0, a1)
		f.Failed(a0)
		f.Failed(a1)
		f.next() // no spin
		f.mine()
	}
	if f.Get(a0.Tx.Hash()) != nil {
		t.Fatal("an entry that fails forever stays")
	}
	f.stats(0, 1, 0)
	f.add(entry('a', 0, 100, 1))
	f.stats(2, 0, 1)
}

func TestFailedReplaced(t *testing.T) {
	f := newFixture(t, roomy)
	a0, again := entry('a', 0, 100, 10), entry('a', 0, 200, 20)
	f.add(a0)
	f.next(a0)
	f.Failed(a0)
	f.Release()
	f.next()
	f.add(again) // clears the wait
	f.next(again)
	f.set(address('a'), 1, 1e12) // by an authorization in another transaction
	f.Failed(again)
	f.stats(0, 0, 0)
}

func TestForeignBlock(t *testing.T) {
	f := newFixture(t, roomy)
	f.add(entry('a', 0, 100, 10), entry('a', 1, 100, 10), entry('a', 3, 100, 10))
	f.stats(2, 1, 1)
	f.mine(entry('a', 0, 100, 1), entry('a', 1, 100, 1), entry('a', 2, 100, 1), entry('b', 0, 100, 1))
	f.stats(1, 0, 1)
}

func TestReady(t *testing.T) {
	f := newFixture(t, roomy)
	f.add(entry('a', 1, 100, 10))
	select {
	case <-f.Ready():
		t.Fatal("nothing can be sealed")
	default:
	}
	f.add(entry('a', 0, 100, 10))
	<-f.Ready()
	f.add(entry('a', 2, 100, 10)) // more of the same sender
	<-f.Ready()
}
