package mempool_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"dyno/services/chain/mempool"
)

// What Pending returns is what rounds of Next then give, also while a part of it is being sealed.
func TestPending(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		f := newFixture(t, roomy)
		base := big.NewInt(random.Int64N(20))
		for from := byte('a'); from < 'k'; from++ {
			for nonce := range uint64(random.IntN(6)) {
				e := entry(from, nonce, 10+random.Int64N(30), random.Int64N(10))
				if err := f.Add(e, nil); err != nil {
					t.Fatal(err)
				}
				if random.IntN(8) > 0 { // otherwise it is not durable, nor are later ones of its sender to be had
					f.Confirm(e)
				}
			}
		}
		before, changes := f.Pending(base, 1000)
		if changes != f.Changes() {
			t.Fatalf("changes %d and then %d", changes, f.Changes())
		}
		some := f.Next(base, 1<<40, random.IntN(10))
		during, _ := f.Pending(base, 1000)
		rest := f.Next(base, 1<<40, 1000)
		all := append(some, rest...)
		if len(all) != len(before) || len(all) != len(during) {
			t.Fatalf("%d pending, %d while %d are sealed, and Next gives %d", len(before), len(during), len(some), len(all))
		}
		for i, e := range all {
			if before[i] != e.Tx || during[i] != e.Tx {
				t.Fatalf("transaction %d is another one", i)
			}
		}
		if few, _ := f.Pending(base, 3); len(few) != min(3, len(all)) {
			t.Fatalf("%d of at most 3", len(few))
		}
		f.Release()
	}
}

// A durable entry is pending until the one that replaces it is durable, too, and the nonce after
// accepted entries does not count others.
func TestPendingReplaced(t *testing.T) {
	f := newFixture(t, roomy)
	first, second, next := entry('a', 0, 100, 1), entry('a', 0, 200, 2), entry('a', 1, 100, 1)
	add := func(e *mempool.Entry) {
		t.Helper()
		if err := f.Add(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := func(nonce uint64, txs ...*mempool.Entry) {
		t.Helper()
		if n, ok := f.Accepted(address('a')); !ok || n != nonce {
			t.Errorf("the nonce is %d, want %d", n, nonce)
		}
		got, _ := f.Pending(nil, 10)
		if len(got) != len(txs) {
			t.Fatalf("%d pending, want %d", len(got), len(txs))
		}
		for i, e := range txs {
			if got[i] != e.Tx {
				t.Errorf("transaction %d is %v", i, got[i].Hash())
			}
		}
	}
	add(first)
	want(0)
	f.Confirm(first)
	want(1, first)
	add(second)
	add(next)
	want(1, first)
	f.Confirm(next)
	want(2, first, next)
	f.Confirm(second)
	want(2, second, next)
}
