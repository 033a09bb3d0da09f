package limiter

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is an Acquire in progress or done.
type asked struct {
	err  error
	over bool
	took time.Duration
}

// ask calls Acquire in the background; in a bubble, all that can finish has finished when it
// returns.
func ask(ctx context.Context, l *Limiter) *asked {
	a, begin := &asked{}, time.Now()
	go func() {
		a.err = l.Acquire(ctx)
		a.over, a.took = true, time.Since(begin)
	}()
	synctest.Wait()
	return a
}

func (a *asked) want(t *testing.T, what string, over bool, err error) {
	t.Helper()
	synctest.Wait()
	if a.over != over || !errors.Is(a.err, err) {
		t.Errorf("%s: over %v, %v; want %v, %v", what, a.over, a.err, over, err)
	}
}

// Requests are admitted in order, and those above the bound are refused.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Limit: 2, MaxWaiting: 2})
		for range l.Limit() {
			ask(t.Context(), l).want(t, "with room", true, nil)
		}
		second, third := ask(t.Context(), l), ask(t.Context(), l)
		ask(t.Context(), l).want(t, "one too many", true, ErrFull)
		third.want(t, "without room", false, nil)
		l.Release()
		second.want(t, "with room", true, nil)
		third.want(t, "behind", false, nil)
		l.Release()
		third.want(t, "with room", true, nil)
	})
}

// A request that gives up, or has waited for MaxWait, makes room for later ones.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Limit: 1, MaxWaiting: 2, MaxWait: time.Second})
		ask(t.Context(), l)
		ctx, cancel := context.WithCancel(t.Context())
		first, second := ask(ctx, l), ask(t.Context(), l)
		cancel()
		first.want(t, "cancelled", true, context.Canceled)
		l.Release()
		second.want(t, "behind one that gave up", true, nil)
		ask(ctx, l).want(t, "late", true, context.Canceled)

		late := ask(t.Context(), l)
		time.Sleep(time.Minute)
		late.want(t, "after a minute", true, ErrTimeout)
		if late.took != time.Second {
			t.Errorf("waited %v", late.took)
		}
	})
}

// Whatever requests do, at most Limit are admitted at a time, at most MaxWaiting more wait, none
// waits while there is room, and at the end all have given their place back.
func TestInvariants(t *testing.T) {
	const limit, most = 3, 4
	synctest.Test(t, func(t *testing.T) {
		l := New(Options{Limit: limit, MaxWaiting: most, MaxWait: 5 * time.Second})
		var in, refused atomic.Int64
		for range 2000 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(9000))*time.Millisecond)
			go func() {
				defer cancel()
				if err := l.Acquire(ctx); err != nil {
					refused.Add(1)
					return
				}
				in.Add(1)
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
				in.Add(-1)
				l.Release()
			}()
			synctest.Wait()
			if n, waiting := in.Load(), l.waiting.Load(); n > limit || waiting > most || n < limit && waiting > 0 {
				t.Fatalf("%d are in, %d wait", n, waiting)
			}
			time.Sleep(time.Duration(rand.IntN(900)) * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if n := len(l.admitted); n > 0 || l.waiting.Load() > 0 || refused.Load() == 0 {
			t.Errorf("at the end %d are in, %d wait, %d were refused", n, l.waiting.Load(), refused.Load())
		}
	})
}

func TestNoAllocations(t *testing.T) {
	l := New(Options{Limit: 2})
	if n := testing.AllocsPerRun(1000, func() {
		if err := l.Acquire(t.Context()); err != nil {
			t.Error(err)
		}
		l.Release()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAcquire(b *testing.B) {
	l := New(Options{Limit: 64, MaxWaiting: 1 << 20})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if l.Acquire(b.Context()) == nil {
				l.Release()
			}
		}
	})
}
