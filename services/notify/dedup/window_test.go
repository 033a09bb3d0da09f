package dedup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func claim1(t *testing.T, w *Window, id string) uint64 {
	t.Helper()
	c, err := w.Claim(t.Context(), Item{ID: id})
	if err != nil || c.Other {
		t.Fatalf("Claim(%s) = %+v, %v", id, c, err)
	}
	return c.Seq
}

func items(ids ...string) (out []Item) {
	for _, id := range ids {
		out = append(out, Item{ID: id})
	}
	return out
}

// An id stands for what it was claimed with, in a call, between calls and after Load.
func TestOtherContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(time.Hour, 10)
		w.Load(Item{"loaded", 7}, 3, time.Now())
		got, err := w.ClaimAll(t.Context(), []Item{{"a", 1}, {"a", 2}, {"loaded", 7}, {"loaded", 8}, {"a", 1}})
		want := []Claim{{0, 0, false}, {0, 0, true}, {3, 2, false}, {3, 3, true}, {0, 0, false}}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %v, %v; want %v", got, err, want)
		}
		var waits sync.WaitGroup
		waits.Go(func() {
			if c, err := w.Claim(t.Context(), Item{"a", 2}); err != nil || c != (Claim{Seq: 4, Other: true}) {
				t.Errorf("claimed as other content while it was taken: %+v, %v", c, err)
			}
		})
		synctest.Wait()
		w.Commit(Item{"a", 1}, 4, time.Now())
		waits.Wait()
		if c, err := w.Claim(t.Context(), Item{"a", 1}); err != nil || c != (Claim{Seq: 4}) {
			t.Errorf("the same content: %+v, %v", c, err)
		}
	})
}

func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(time.Minute, 3)
		for i, id := range []string{"a", "b", "c"} {
			if seq := claim1(t, w, id); seq != 0 {
				t.Fatalf("%s is known as %d before it was committed", id, seq)
			}
			w.Commit(Item{ID: id}, uint64(i+1), time.Now())
			time.Sleep(time.Second)
		}
		if seq := claim1(t, w, "a"); seq != 1 {
			t.Fatalf("a is %d, want 1", seq)
		}
		claim1(t, w, "d")
		w.Commit(Item{ID: "d"}, 4, time.Now()) // the fourth: a goes
		if seq := claim1(t, w, "a"); seq != 0 {
			t.Fatalf("a is %d, want forgotten, as three came after it", seq)
		}
		w.Release("a")
		time.Sleep(time.Minute - 2*time.Second) // a minute after b, not yet after c
		if b, c := claim1(t, w, "b"), claim1(t, w, "c"); b != 0 || c != 3 {
			t.Fatalf("b is %d, c is %d; want b forgotten after a minute, and c 3", b, c)
		}
		w.Release("b")
		if n := w.Len(); n != 2 {
			t.Fatalf("%d ids are kept, want c and d", n)
		}
		w.Load(Item{ID: "e"}, 9, time.Now().Add(-time.Minute))
		w.Load(Item{ID: "f"}, 10, time.Now().Add(-time.Minute+1))
		if e, f := claim1(t, w, "e"), claim1(t, w, "f"); e != 0 || f != 10 {
			t.Fatalf("loaded: e is %d, f is %d; want e too old, and f 10", e, f)
		}
	})
}

func TestRemembersNothing(t *testing.T) {
	for _, w := range []*Window{New(time.Minute, 0), New(time.Minute, -1), New(0, 10)} {
		for range 3 {
			if seq := claim1(t, w, "a"); seq != 0 {
				t.Fatalf("a is known as %d", seq)
			}
			w.Commit(Item{ID: "a"}, 1, time.Now())
		}
	}
}

func TestSecondWaits(t *testing.T) {
	for _, commit := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := New(time.Hour, 10)
			claim1(t, w, "a")
			var got []uint64
			var all sync.WaitGroup
			var mu sync.Mutex
			for range 3 {
				all.Go(func() {
					seq := claim1(t, w, "a")
					mu.Lock()
					got = append(got, seq)
					mu.Unlock()
					if seq == 0 {
						w.Commit(Item{ID: "a"}, 8, time.Now())
					}
				})
			}
			synctest.Wait()
			if len(got) != 0 {
				t.Fatalf("claims of a taken id returned %v", got)
			}
			want := []uint64{0, 8, 8} // one of the three claims it itself
			if commit {
				w.Commit(Item{ID: "a"}, 7, time.Now())
				want = []uint64{7, 7, 7}
			} else {
				w.Release("a")
			}
			all.Wait()
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("commit %v: got %v, want %v", commit, got, want)
			}
		})
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(time.Hour, 10)
		claim1(t, w, "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.ClaimAll(ctx, items("a", "b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("ClaimAll of a taken id returned %v", err)
		}
		if seq := claim1(t, w, "a"); seq != 0 { // would wait for ever if a were held
			t.Fatalf("a is %d", seq)
		}
	})
}

func TestClaimAll(t *testing.T) {
	w := New(time.Hour, 10)
	claim1(t, w, "known")
	w.Commit(Item{ID: "known"}, 5, time.Now())
	got, err := w.ClaimAll(t.Context(), items("a", "known", "b", "a", "known", "b", "a"))
	want := []Claim{{First: 0}, {Seq: 5, First: 1}, {First: 2}, {First: 0}, {Seq: 5, First: 4}, {First: 2}, {First: 0}}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v; want %v", got, err, want)
	}
	if got, err := w.ClaimAll(t.Context(), nil); err != nil || len(got) != 0 {
		t.Fatalf("of none: %v, %v", got, err)
	}
}

// Batches that share ids in any order never wait for each other, and each id gets one number.
func TestBatchesDoNotDeadlock(t *testing.T) {
	w := New(time.Hour, 1000)
	var mu sync.Mutex
	given := map[string]uint64{}
	var last uint64
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 200 {
				ids := make([]string, 1+random.IntN(20))
				for i := range ids {
					ids[i] = fmt.Sprint(random.IntN(40))
				}
				claims, err := w.ClaimAll(t.Context(), items(ids...))
				if err != nil {
					t.Error(err)
					return
				}
				release := random.IntN(3) == 0
				for i, c := range claims {
					mu.Lock()
					switch {
					case c.Seq != 0 && given[ids[i]] != c.Seq:
						t.Errorf("%s is known as %d, and was given %d", ids[i], c.Seq, given[ids[i]])
					case c.Seq == 0 && c.First == i && given[ids[i]] != 0:
						t.Errorf("%s was claimed again after it was given %d", ids[i], given[ids[i]])
					case c.Seq == 0 && c.First == i && !release:
						last++
						given[ids[i]] = last
						w.Commit(Item{ID: ids[i]}, last, time.Now())
					case c.Seq == 0 && c.First == i:
						w.Release(ids[i])
					}
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if len(given) != 40 || w.Len() != 40 {
		t.Fatalf("%d ids were given numbers, %d are kept, want 40", len(given), w.Len())
	}
}

// model is a Window in the plainest way.
type model struct {
	window    time.Duration
	max       int
	committed []committed // the oldest first
}

type committed struct {
	id  string
	seq uint64
	at  time.Time
}

func (m *model) find(id string) uint64 {
	for _, s := range slices.Backward(m.committed) {
		if s.id == id && time.Since(s.at) < m.window {
			return s.seq
		}
	}
	return 0
}

func (m *model) add(id string, seq uint64) {
	m.committed = append(m.committed, committed{id, seq, time.Now()})
	m.committed = slices.DeleteFunc(m.committed, func(s committed) bool { return time.Since(s.at) >= m.window })
	m.committed = m.committed[max(0, len(m.committed)-m.max):]
}

func TestEqualsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		synctest.Test(t, func(*testing.T) {
			m := &model{window: time.Minute, max: rapid.IntRange(1, 12).Draw(rt, "max")}
			w := New(m.window, m.max)
			ids := rapid.SliceOfN(rapid.StringMatching(`[a-p]`), 1, 6)
			for seq := uint64(1); seq < 60; {
				batch := ids.Draw(rt, "batch")
				claims, err := w.ClaimAll(context.Background(), items(batch...))
				if err != nil {
					rt.Fatal(err)
				}
				for i, id := range batch {
					c := claims[i]
					if want := m.find(id); c.Seq != want {
						rt.Fatalf("%s is %d, want %d", id, c.Seq, want)
					}
					if first := slices.Index(batch, id); c.Seq == 0 && c.First != first {
						rt.Fatalf("%s at %d of %v: first %d", id, i, batch, c.First)
					}
				}
				for i, id := range batch {
					if c := claims[i]; c.Seq == 0 && c.First == i {
						if rapid.Bool().Draw(rt, "store") {
							w.Commit(Item{ID: id}, seq, time.Now())
							m.add(id, seq)
						} else {
							w.Release(id)
						}
					}
					seq++
				}
				time.Sleep(time.Duration(rapid.IntRange(0, 15).Draw(rt, "seconds")) * time.Second)
				if w.Len() > m.max {
					rt.Fatalf("%d ids are kept, %d are allowed", w.Len(), m.max)
				}
			}
		})
	})
}

func TestClaimAllocatesNothing(t *testing.T) {
	w := New(time.Hour, 10)
	claim1(t, w, "a-rather-long-identification-of-a-notice")
	w.Commit(Item{ID: "a-rather-long-identification-of-a-notice"}, 1, time.Now())
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { w.Claim(ctx, Item{ID: "a-rather-long-identification-of-a-notice"}) }); n > 0 {
		t.Errorf("a Claim of a known id allocates %v times", n)
	}
}

// BenchmarkMemory reports the bytes per id in a full window of a million ids.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		before := heap()
		w := fill(1_000_000)
		b.ReportMetric(float64(heap()-before)/float64(w.Len()), "B/id")
		runtime.KeepAlive(w)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func fill(n int) *Window {
	w := New(time.Hour, n)
	now := time.Now()
	for i := range n {
		w.Load(Item{ID: fmt.Sprintf("01JD8Z2X7Q-%016d", i)}, uint64(i+1), now)
	}
	return w
}

// BenchmarkPost is a Claim and a Commit in a full window, by one goroutine for each CPU.
func BenchmarkPost(b *testing.B) {
	w := fill(1_000_000)
	ctx := b.Context()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		base := rand.Uint64()
		now := time.Now()
		for i := base; pb.Next(); i++ {
			id := fmt.Sprintf("%016x-%016x", base, i)
			if c, _ := w.Claim(ctx, Item{ID: id}); c.Seq == 0 {
				w.Commit(Item{ID: id}, 1, now)
			}
		}
	})
}
