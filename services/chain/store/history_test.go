package store

import (
	"math/big"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

var (
	one  = common.Address{1}
	slot = common.Hash{2}
)

// grow appends blocks, of which each replaces the nonce of an account and a slot: before block n they
// are n.
func grow(t *testing.T, s *Store, count int) {
	t.Helper()
	for range count {
		n := s.Head().Number + 1
		block := types.NewBlockWithHeader(&types.Header{Number: new(big.Int).SetUint64(n), ParentHash: s.Head().Hash, Difficulty: new(big.Int)})
		r := NewReplaced()
		r.Accounts[one] = &types.StateAccount{Nonce: n, Balance: new(uint256.Int), Root: types.EmptyRootHash, CodeHash: types.EmptyCodeHash[:]}
		r.Slot(one, slot, common.BigToHash(new(big.Int).SetUint64(n)))
		if err := s.Append(block, nil, r); err != nil {
			t.Fatal(err)
		}
	}
}

// records counts those of accounts and slots, and of what changed.
func records(t *testing.T, s *Store) (n int) {
	t.Helper()
	for _, prefix := range []string{accountKey, slotKey, changedKey} {
		it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte(prefix), UpperBound: []byte{prefix[0] + 1}})
		if err != nil {
			t.Fatal(err)
		}
		for it.First(); it.Valid(); it.Next() {
			n++
		}
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// kept checks since which block states follow, and that they are right.
func kept(t *testing.T, s *Store, from, window uint64) {
	t.Helper()
	if h := s.History(); h == nil || *h != (History{from, window}) {
		t.Fatalf("kept is %+v, want since block %d, a window of %d", h, from, window)
	}
	for n := from; n < s.Head().Number; n++ {
		account, found, err := s.PastAccount(one, n)
		if err != nil || !found || account.Nonce != n+1 {
			t.Fatalf("after block %d: %+v, %t, %v", n, account, found, err)
		}
		value, found, err := s.PastSlot(one, slot, n)
		if err != nil || !found || value.Big().Uint64() != n+1 {
			t.Fatalf("after block %d: %v, %t, %v", n, value, found, err)
		}
	}
	if _, found, err := s.PastAccount(one, s.Head().Number); found || err != nil {
		t.Fatalf("after the last block: %t, %v", found, err)
	}
	if _, found, err := s.PastAccount(common.Address{2}, 0); found || err != nil {
		t.Fatalf("an account that no block has changed: %t, %v", found, err)
	}
}

// With a bound as many states are kept as it says, and no more records than they need. It can be
// moved, and what is kept counts from when it was set.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Begin([]byte("{}"), types.NewBlockWithHeader(&types.Header{Number: new(big.Int), Difficulty: new(big.Int)})); err != nil {
		t.Fatal(err)
	}
	grow(t, s, 5)
	if n := records(t, s); n != 0 || s.History() != nil {
		t.Fatalf("%d records without a history", n)
	}
	keep := func(window uint64) {
		t.Helper()
		if err := s.KeepHistory(window); err != nil {
			t.Fatal(err)
		}
	}
	keep(10)
	grow(t, s, 4)
	kept(t, s, 5, 10)
	grow(t, s, 20)
	kept(t, s, 19, 10)
	if n := records(t, s); n != 3*10 {
		t.Errorf("%d records for 10 blocks", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(dir, false); err != nil {
		t.Fatal(err)
	}
	kept(t, s, 19, 10)
	keep(3)
	grow(t, s, 4)
	kept(t, s, 30, 3)
	if n := records(t, s); n != 3*3 {
		t.Errorf("%d records for 3 blocks", n)
	}
	keep(0)
	grow(t, s, 30)
	kept(t, s, 30, 0)
	block := types.NewBlockWithHeader(&types.Header{Number: big.NewInt(64), ParentHash: s.Head().Hash, Difficulty: new(big.Int)})
	if err := s.Append(block, nil, nil); err == nil {
		t.Error("a block is taken without what it replaced")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
