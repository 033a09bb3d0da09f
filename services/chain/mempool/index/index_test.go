package index_test

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

	"dyno/services/chain/mempool/index"
)

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { against(t, index.New()) })
}

// entry makes the entry of one of many senders.
func entry(n int, feeCap, tip int64) *index.Entry {
	from := common.BigToAddress(big.NewInt(int64(n)))
	tx := types.NewTx(&types.DynamicFeeTx{Nonce: uint64(n), GasFeeCap: big.NewInt(feeCap), GasTipCap: big.NewInt(tip), Gas: 21_000})
	e := index.NewEntry(tx, from, nil)
	e.Arrival = uint64(n)
	return e
}

// model is an index that compares all entries.
type model struct{ all, offered []*index.Entry }

// best returns the entry that a walk visits next, or nil.
func (m *model) best(base uint64, kept []*index.Entry) *index.Entry {
	var best *index.Entry
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

func rate(e *index.Entry, base uint64) uint64 {
	return min(e.TipCap().Uint64(), e.FeeCap().Uint64()-base)
}

func without(entries []*index.Entry, e *index.Entry) []*index.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(other *index.Entry) bool { return other == e })
}

// against does the same to an index and to the model.
func against(t *rapid.T, ix *index.Index) {
	m, made := &model{}, 0
	put := func() *index.Entry {
		made++
		feeCap := rapid.Int64Range(0, 8).Draw(t, "fee cap")
		e := entry(made, feeCap, rapid.Int64Range(0, feeCap).Draw(t, "tip"))
		ix.Put(e)
		m.all = append(m.all, e)
		return e
	}
	t.Repeat(map[string]func(*rapid.T){
		"put": func(t *rapid.T) { put() },
		"offer": func(t *rapid.T) {
			e := put()
			ix.Offer(e)
			m.offered = append(m.offered, e)
		},
		"delete": func(t *rapid.T) {
			if len(m.all) == 0 {
				t.Skip()
			}
			e := rapid.SampledFrom(m.all).Draw(t, "entry")
			if slices.Contains(m.offered, e) {
				ix.Retract(e)
				m.offered = without(m.offered, e)
			}
			ix.Delete(e)
			m.all = without(m.all, e)
			if ix.Get(e.Tx.Hash()) != nil {
				t.Fatal("what was deleted is there")
			}
		},
		"walk": func(t *rapid.T) { m.walk(t, ix, put()) },
		"": func(t *rapid.T) {
			if n := ix.Offered(); n != len(m.offered) {
				t.Fatalf("%d are offered, want %d", n, len(m.offered))
			}
			for _, e := range m.all {
				if ix.Get(e.Tx.Hash()) != e {
					t.Fatal("what was put is not there")
				}
			}
		},
	})
}

// walk walks both, with any verdicts; next is offered by one of the visits.
func (m *model) walk(t *rapid.T, ix *index.Index, next *index.Entry) {
	base := rapid.Uint64Range(0, 9).Draw(t, "base fee")
	var kept []*index.Entry
	stopped := false
	ix.Walk(uint256.NewInt(base), func(e *index.Entry) (index.Verdict, *index.Entry) {
		if want := m.best(base, kept); stopped || e != want {
			t.Fatalf("visited %v/%v, want %+v (stopped: %t)", e.FeeCap(), e.TipCap(), want, stopped)
		}
		verdict := rapid.SampledFrom([]index.Verdict{index.Stop, index.Keep, index.Taken, index.Taken}).Draw(t, "verdict")
		switch verdict {
		case index.Stop:
			stopped = true
			return verdict, nil
		case index.Keep:
			kept = append(kept, e)
		case index.Taken:
			m.offered = without(m.offered, e)
		}
		if next == nil || rapid.Bool().Draw(t, "none") {
			return verdict, nil
		}
		other := next
		m.offered, next = append(m.offered, other), nil
		return verdict, other
	})
	if e := m.best(base, kept); !stopped && e != nil {
		t.Fatalf("%v/%v was not visited", e.FeeCap(), e.TipCap())
	}
}

// Several goroutines use an index; the race detector judges.
func TestConcurrent(t *testing.T) {
	ix := index.New()
	const workers, each = 4, 200
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				e := entry(w*each+i+1, int64(i%7+1), 1)
				ix.Put(e)
				ix.Offer(e)
				if ix.Get(e.Tx.Hash()) != e {
					t.Error("what was put is not there")
				}
				if i%2 == 0 {
					ix.Retract(e)
					ix.Delete(e)
				}
			}
		})
	}
	group.Go(func() {
		for i := range each {
			ix.Walk(uint256.NewInt(uint64(i%3)), func(*index.Entry) (index.Verdict, *index.Entry) { return index.Keep, nil })
		}
	})
	group.Wait()
	visited := 0
	ix.Walk(new(uint256.Int), func(*index.Entry) (index.Verdict, *index.Entry) {
		visited++
		return index.Taken, nil
	})
	if want := workers * each / 2; visited != want || ix.Offered() != 0 {
		t.Errorf("%d were visited, want %d, and %d remain", visited, want, ix.Offered())
	}
}

// entries are those of 10,000 senders.
var entries = sync.OnceValue(func() (out []*index.Entry) {
	for n := range 10_000 {
		out = append(out, entry(n+1, 100, int64(n%50+1)))
	}
	return out
})

func BenchmarkIndex(b *testing.B) {
	b.Run("put, get, offer, retract, delete", func(b *testing.B) {
		ix := index.New()
		var workers atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			mine := entries()[100*(workers.Add(1)%100):][:100]
			for i := 0; pb.Next(); i++ {
				e := mine[i%len(mine)]
				ix.Put(e)
				ix.Offer(e)
				_ = ix.Get(e.Tx.Hash())
				ix.Retract(e)
				ix.Delete(e)
			}
		})
	})
	for _, c := range []struct {
		name  string
		batch int
		bases uint64
	}{{"take 1", 1, 1}, {"take 200", 200, 1}, {"take 200, the base fee moves", 200, 2}} {
		b.Run(c.name, func(b *testing.B) {
			ix := index.New()
			for _, e := range entries() {
				ix.Put(e)
				ix.Offer(e)
			}
			arrival := uint64(len(entries()))
			for i := 0; b.Loop(); i++ {
				taken := 0
				ix.Walk(uint256.NewInt(50+uint64(i)%c.bases), func(e *index.Entry) (index.Verdict, *index.Entry) {
					if taken == c.batch {
						return index.Stop, nil
					}
					taken++
					arrival++
					e.Arrival = arrival
					return index.Taken, e // as if it were the sender's next one
				})
			}
		})
	}
}
