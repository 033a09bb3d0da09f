package workpool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLowestFirstThenFirstIn(t *testing.T) {
	p := New(Config{Workers: 1, Capacity: 10})
	defer p.Close()
	begin := make(chan struct{})
	var order []string
	p.Submit(t.Context(), 0, func(context.Context) { <-begin })
	for i, priority := range []int64{5, -1, 5, 3, -1} {
		p.Submit(t.Context(), priority, func(context.Context) { order = append(order, fmt.Sprint(priority, "/", i)) })
	}
	close(begin)
	p.Wait()
	if want := []string{"-1/1", "-1/4", "3/3", "5/0", "5/2"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

func TestSubmitWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Workers: 1, Capacity: 1})
		defer p.Close()
		release := make(chan struct{})
		hold := func(context.Context) { <-release }
		p.Submit(t.Context(), 0, hold)
		synctest.Wait() // it is at work
		if err := p.Submit(t.Context(), 0, hold); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Submit(ctx, 0, hold); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third: %v", err)
		}
		if waiting, working := p.Len(); waiting != 1 || working != 1 {
			t.Errorf("%d wait and %d are at work", waiting, working)
		}
		close(release)
		p.Wait()
	})
}

// An item that is cancelled while it waits gives its room back at once, whatever the workers do.
func TestCancelledItemGivesItsRoomBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Workers: 1, Capacity: 1})
		defer p.Close()
		p.Submit(t.Context(), 0, func(ctx context.Context) { <-ctx.Done() })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		p.Submit(ctx, 0, func(context.Context) { t.Error("it was cancelled before its turn") })
		cancel()
		if err := p.Submit(t.Context(), 0, func(context.Context) {}); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseCancelsAndWaits(t *testing.T) {
	p := New(Config{Workers: 2, Capacity: 2})
	ended := make(chan error, 2)
	begun := make(chan struct{})
	for range 2 {
		p.Submit(t.Context(), 0, func(ctx context.Context) {
			begun <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
		})
		<-begun
	}
	for range 2 {
		p.Submit(t.Context(), 0, func(context.Context) { t.Error("begun after Close") })
	}
	var blocked sync.WaitGroup
	blocked.Go(func() {
		if err := p.Submit(t.Context(), 0, func(context.Context) { t.Error("begun after Close") }); !errors.Is(err, ErrClosed) {
			t.Errorf("Submit during Close: %v", err)
		}
	})
	p.Close()
	if len(ended) != 2 {
		t.Error("Close did not wait for the work")
	}
	p.Close() // once more is no harm
	blocked.Wait()
	if err := p.Submit(t.Context(), 0, func(context.Context) {}); !errors.Is(err, ErrClosed) {
		t.Errorf("Submit after Close: %v", err)
	}
}

func TestSubmitWithADeadContext(t *testing.T) {
	p := New(Config{})
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Submit(ctx, 0, func(context.Context) { t.Error("called") }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p.Wait()
}

// An item of low priority that steps back lets others pass, and comes again, also when the queue is full.
func TestAgain(t *testing.T) {
	p := New(Config{Workers: 1, Capacity: 1})
	defer p.Close()
	var order []string
	full := make(chan struct{})
	turns := 0
	p.Submit(t.Context(), 0, func(ctx context.Context) {
		<-full
		turns++
		order = append(order, fmt.Sprint("again ", turns))
		if turns < 3 {
			Again(context.WithValue(ctx, t, "an item's own"), 7)
		}
	})
	p.Submit(t.Context(), 5, func(context.Context) { order = append(order, "other") })
	close(full)
	p.Wait()
	if want := []string{"again 1", "other", "again 2", "again 3"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
	Again(t.Context(), 1) // of no item: nothing
}

func TestAgainOfACancelledItem(t *testing.T) {
	p := New(Config{Workers: 1})
	defer p.Close()
	turns := 0
	p.Submit(t.Context(), 0, func(ctx context.Context) {
		turns++
		p.Cancel()
		Again(ctx, 0)
	})
	p.Wait()
	if turns != 1 {
		t.Errorf("%d turns", turns)
	}
}

// model is what a pool should do, one step at a time.
type model struct {
	workers, capacity int
	waiting           []*piece // in order of priority, then of coming
	working           []*piece
	blocked           []*piece // in Submit
	clock             int
}

type piece struct {
	id       int
	priority int64
	came     int
	room     bool
	cancel   context.CancelFunc
	finish   chan bool // whether to come again, at again
	again    int64
}

func (m *model) enter(p *piece) {
	m.clock++
	p.came = m.clock
	m.waiting = append(m.waiting, p)
	slices.SortFunc(m.waiting, func(a, b *piece) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.came, b.came))
	})
}

// settle moves pieces on until nothing can.
func (m *model) settle() {
	for {
		held := 0
		for _, p := range m.waiting {
			if p.room {
				held++
			}
		}
		switch {
		case len(m.working) < m.workers && len(m.waiting) > 0:
			m.waiting[0].room = false
			m.working, m.waiting = append(m.working, m.waiting[0]), m.waiting[1:]
		case held < m.capacity && len(m.blocked) > 0:
			m.blocked[0].room = true
			m.enter(m.blocked[0])
			m.blocked = m.blocked[1:]
		default:
			return
		}
	}
}

func (m *model) drop(p *piece) {
	for _, list := range []*[]*piece{&m.waiting, &m.working, &m.blocked} {
		if i := slices.Index(*list, p); i >= 0 {
			*list = slices.Delete(*list, i, i+1)
		}
	}
	m.settle()
}

func ids(pieces []*piece) (out []int) {
	for _, p := range pieces {
		out = append(out, p.id)
	}
	slices.Sort(out)
	return out
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{workers: rapid.IntRange(1, 3).Draw(rt, "workers"), capacity: rapid.IntRange(1, 4).Draw(rt, "capacity")}
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [3]int {
			return [3]int{rapid.IntRange(0, 9).Draw(t, "what"), rapid.IntRange(-2, 2).Draw(t, "priority"), rapid.IntRange(0, 9).Draw(t, "whom")}
		}), 1, 50).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(*testing.T) { err = follow(m, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// follow does the steps with a pool and holds what is at work against the model after each.
func follow(m *model, steps [][3]int) error {
	pool := New(Config{Workers: m.workers, Capacity: m.capacity})
	var mu sync.Mutex
	working := map[int]bool{}
	var submitting sync.WaitGroup
	defer submitting.Wait()
	defer pool.Close()
	for n, s := range steps {
		what, priority, whom := s[0], int64(s[1]), s[2]
		all := slices.Concat(m.working, m.waiting, m.blocked)
		switch {
		case what < 5 && len(m.blocked) < 3:
			p := &piece{id: n, priority: priority, finish: make(chan bool)}
			ctx, cancel := context.WithCancel(context.Background())
			p.cancel = cancel
			submitting.Go(func() {
				pool.Submit(ctx, priority, func(ctx context.Context) {
					mu.Lock()
					working[p.id] = true
					mu.Unlock()
					select {
					case again := <-p.finish:
						if again {
							Again(ctx, p.again)
						}
					case <-ctx.Done():
					}
					mu.Lock()
					delete(working, p.id)
					mu.Unlock()
				})
			})
			m.blocked = append(m.blocked, p)
			m.settle()
		case what < 8 && len(m.working) > 0:
			p := m.working[whom%len(m.working)]
			again := what == 5
			p.again = priority
			p.finish <- again
			if again {
				m.working = slices.DeleteFunc(m.working, func(q *piece) bool { return q == p })
				p.priority = priority
				m.enter(p)
				m.settle()
			} else {
				m.drop(p)
			}
		case what == 8 && len(all) > 0:
			p := all[whom%len(all)]
			p.cancel()
			m.drop(p)
		case what == 9 && len(m.blocked) == 0: // of those who then find room, chance would say who is first
			pool.Cancel()
			m.working, m.waiting = nil, nil
		}
		synctest.Wait()
		mu.Lock()
		var got []int
		for id := range working {
			got = append(got, id)
		}
		mu.Unlock()
		slices.Sort(got)
		if want := ids(m.working); !slices.Equal(got, want) {
			return fmt.Errorf("step %d: at work are %v, want %v (waiting %v)", n, got, want, ids(m.waiting))
		}
		if waiting, busy := pool.Len(); waiting != len(m.waiting) || busy != len(m.working) {
			return fmt.Errorf("step %d: %d wait and %d are at work, want %d and %d", n, waiting, busy, len(m.waiting), len(m.working))
		}
	}
	pool.Close()
	if len(working) > 0 {
		return fmt.Errorf("at work after Close: %v", working)
	}
	return nil
}

func BenchmarkSubmit(b *testing.B) {
	p := New(Config{Workers: 2, Capacity: 64})
	defer p.Close()
	b.ReportAllocs()
	for i := range b.N {
		p.Submit(b.Context(), int64(-i), func(context.Context) {})
	}
	p.Wait()
}
