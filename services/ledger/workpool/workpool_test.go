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
	var working sync.WaitGroup
	p.Submit(t.Context(), 0, func(context.Context) { <-begin })
	for i, priority := range []int64{5, -1, 5, 3, -1} {
		working.Add(1)
		p.Submit(t.Context(), priority, func(context.Context) {
			order = append(order, fmt.Sprint(priority, "/", i))
			working.Done()
		})
	}
	close(begin)
	working.Wait()
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
		synctest.Wait() // it is running
		if err := p.Submit(t.Context(), 0, hold); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Submit(ctx, 0, hold); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third: %v", err)
		}
		close(release)
		if err := p.Submit(t.Context(), 0, hold); err != nil {
			t.Errorf("when there is room again: %v", err)
		}
	})
}

// An item that is cancelled while it waits is skipped; the context of a running one ends.
func TestCancelledItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Workers: 1, Capacity: 1})
		defer p.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancelled := false
		p.Submit(ctx, 0, func(ctx context.Context) {
			<-ctx.Done()
			cancelled = true
		})
		synctest.Wait()
		p.Submit(ctx, 0, func(context.Context) { t.Error("it was cancelled before its turn") })
		cancel()
		next := false
		p.Submit(t.Context(), 0, func(context.Context) { next = true })
		synctest.Wait()
		if !cancelled || !next {
			t.Errorf("the context of the running item ended: %v; the next item ran: %v", cancelled, next)
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
	p.Close() // calling it twice is harmless
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
}

// model is the expected state of a pool, one step at a time.
type model struct {
	workers, capacity int
	waiting           []*piece // in order of priority, then of arrival
	working           []*piece
	blocked           []*piece // in Submit
	clock             int
}

type piece struct {
	id       int
	priority int64
	came     int
	cancel   context.CancelFunc
	finish   chan struct{}
}

// settle moves pieces on until none can move.
func (m *model) settle() {
	for {
		switch {
		case len(m.working) < m.workers && len(m.waiting) > 0:
			m.working, m.waiting = append(m.working, m.waiting[0]), m.waiting[1:]
		case len(m.waiting) < m.capacity && len(m.blocked) > 0:
			m.clock++
			m.blocked[0].came = m.clock
			m.waiting, m.blocked = append(m.waiting, m.blocked[0]), m.blocked[1:]
			slices.SortFunc(m.waiting, func(a, b *piece) int {
				return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.came, b.came))
			})
		default:
			return
		}
	}
}

// end removes a piece that is running or in Submit.
func (m *model) end(p *piece) {
	for _, list := range []*[]*piece{&m.working, &m.blocked} {
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
			return [3]int{rapid.IntRange(0, 9).Draw(t, "what"), rapid.IntRange(-2, 2).Draw(t, "priority"), rapid.IntRange(0, 9).Draw(t, "which")}
		}), 1, 50).Draw(rt, "steps")
		var err error
		synctest.Test(t, func(*testing.T) { err = follow(m, steps) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// follow runs the steps with a pool and compares the running items with the model after each.
func follow(m *model, steps [][3]int) error {
	pool := New(Config{Workers: m.workers, Capacity: m.capacity})
	var mu sync.Mutex
	working := map[int]bool{}
	var submitting sync.WaitGroup
	defer submitting.Wait()
	defer pool.Close()
	for n, s := range steps {
		what, priority, which := s[0], int64(s[1]), s[2]
		// TestCancelledItems covers a waiting item: which item replaces it is random.
		cancellable := slices.Concat(m.working, m.blocked)
		switch {
		case what < 5 && len(m.blocked) < 3:
			p := &piece{id: n, priority: priority, finish: make(chan struct{})}
			ctx, cancel := context.WithCancel(context.Background())
			p.cancel = cancel
			submitting.Go(func() {
				pool.Submit(ctx, priority, func(ctx context.Context) {
					mu.Lock()
					working[p.id] = true
					mu.Unlock()
					select {
					case <-p.finish:
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
			p := m.working[which%len(m.working)]
			p.finish <- struct{}{}
			m.end(p)
		case what >= 8 && len(cancellable) > 0:
			p := cancellable[which%len(cancellable)]
			p.cancel()
			m.end(p)
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
}
