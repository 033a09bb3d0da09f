package mempool

import (
	"cmp"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"
)

func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { against(t, newIndex()) })
}

// entry makes the entry of one of many senders.
func entry(n int, feeCap, tip int64) *Entry {
	from := common.BigToAddress(big.NewInt(int64(n)))
	tx := types.NewTx(&types.DynamicFeeTx{Nonce: uint64(n), GasFeeCap: big.NewInt(feeCap), GasTipCap: big.NewInt(tip), Gas: 21_000})
	e := NewEntry(tx, from, nil)
	e.Arrival = uint64(n)
	return e
}

// model is an index that compares all entries.
type model struct{ all, offered []*Entry }

// best returns the entry that a walk visits next, or nil.
func (m *model) best(base uint64, kept []*Entry) *Entry {
	var best *Entry
	for _, e := range m.offered {
		if e.FeeCap().Uint64() < base || slices.Contains(kept, e) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(rate(e, base), rate(best, base)), cmp.Compare(best.Arrival, e.Arrival)) > 0 {
			best = e
		}
	}
	return best
}

func rate(e *Entry, base uint64) uint64 {
	return min(e.TipCap().Uint64(), e.FeeCap().Uint64()-base)
}

func without(entries []*Entry, e *Entry) []*Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(other *Entry) bool { return other == e })
}

// against does the same to an index and to the model.
func against(t *rapid.T, ix *index) {
	m, made := &model{}, 0
	put := func() *Entry {
		made++
		feeCap := rapid.Int64Range(0, 8).Draw(t, "fee cap")
		e := entry(made, feeCap, rapid.Int64Range(0, feeCap).Draw(t, "tip"))
		ix.put(e)
		m.all = append(m.all, e)
		return e
	}
	t.Repeat(map[string]func(*rapid.T){
		"put": func(t *rapid.T) { put() },
		"offer": func(t *rapid.T) {
			e := put()
			ix.offer(e)
			m.offered = append(m.offered, e)
		},
		"delete": func(t *rapid.T) {
			if len(m.all) == 0 {
				t.Skip()
			}
			e := rapid.SampledFrom(m.all).Draw(t, "entry")
			if slices.Contains(m.offered, e) {
				ix.retract(e)
				m.offered = without(m.offered, e)
			}
			ix.remove(e)
			m.all = without(m.all, e)
			if ix.get(e.Tx.Hash()) != nil {
				t.Fatal("what was deleted is there")
			}
		},
		"walk": func(t *rapid.T) { m.walk(t, ix, put()) },
		"": func(t *rapid.T) {
			if n := ix.offered(); n != len(m.offered) {
				t.Fatalf("%d are offered, want %d", n, len(m.offered))
			}
			for _, e := range m.all {
				if ix.get(e.Tx.Hash()) != e {
					t.Fatal("what was put is not there")
				}
			}
		},
	})
}

// walk walks both, with any verdicts; next is offered by one of the visits.
func (m *model) walk(t *rapid.T, ix *index, next *Entry) {
	base := rapid.Uint64Range(0, 9).Draw(t, "base fee")
	var kept []*Entry
	stopped := false
	ix.walk(uint256.NewInt(base), func(e *Entry) (verdict, *Entry) {
		if want := m.best(base, kept); stopped || e != want {
			t.Fatalf("visited %v/%v, want %+v (stopped: %t)", e.FeeCap(), e.TipCap(), want, stopped)
		}
		v := rapid.SampledFrom([]verdict{stop, keep, take, take}).Draw(t, "verdict")
		switch v {
		case stop:
			stopped = true
			return v, nil
		case keep:
			kept = append(kept, e)
		case take:
			m.offered = without(m.offered, e)
		}
		if next == nil || rapid.Bool().Draw(t, "none") {
			return v, nil
		}
		other := next
		m.offered, next = append(m.offered, other), nil
		return v, other
	})
	if e := m.best(base, kept); !stopped && e != nil {
		t.Fatalf("%v/%v was not visited", e.FeeCap(), e.TipCap())
	}
}

// Several goroutines use an index; the race detector judges.
func TestIndexConcurrent(t *testing.T) {
	ix := newIndex()
	const workers, each = 4, 200
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				e := entry(w*each+i+1, int64(i%7+1), 1)
				ix.put(e)
				ix.offer(e)
				if ix.get(e.Tx.Hash()) != e {
					t.Error("what was put is not there")
				}
				if i%2 == 0 {
					ix.retract(e)
					ix.remove(e)
				}
			}
		})
	}
	group.Go(func() {
		for i := range each {
			ix.walk(uint256.NewInt(uint64(i%3)), func(*Entry) (verdict, *Entry) { return keep, nil })
		}
	})
	group.Wait()
	visited := 0
	ix.walk(new(uint256.Int), func(*Entry) (verdict, *Entry) {
		visited++
		return take, nil
	})
	if want := workers * each / 2; visited != want || ix.offered() != 0 {
		t.Errorf("%d were visited, want %d, and %d remain", visited, want, ix.offered())
	}
}

// entries are those of 10,000 senders.
var entries = sync.OnceValue(func() (out []*Entry) {
	for n := range 10_000 {
		out = append(out, entry(n+1, 100, int64(n%50+1)))
	}
	return out
})

func BenchmarkIndex(b *testing.B) {
	b.Run("put, get, offer, retract, delete", func(b *testing.B) {
		ix := newIndex()
		var workers atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			mine := entries()[100*(workers.Add(1)%100):][:100]
			for i := 0; pb.Next(); i++ {
				e := mine[i%len(mine)]
				ix.put(e)
				ix.offer(e)
				_ = ix.get(e.Tx.Hash())
				ix.retract(e)
				ix.remove(e)
			}
		})
	})
	for _, c := range []struct {
		name  string
		batch int
		bases uint64
	}{{"take 1", 1, 1}, {"take 200", 200, 1}, {"take 200, the base fee moves", 200, 2}} {
		b.Run(c.name, func(b *testing.B) {
			ix := newIndex()
			for _, e := range entries() {
				ix.put(e)
				ix.offer(e)
			}
			arrival := uint64(len(entries()))
			for i := 0; b.Loop(); i++ {
				taken := 0
				ix.walk(uint256.NewInt(50+uint64(i)%c.bases), func(e *Entry) (verdict, *Entry) {
					if taken == c.batch {
						return stop, nil
					}
					taken++
					arrival++
					e.Arrival = arrival
					return take, e // as if it were the sender's next one
				})
			}
		})
	}
}
