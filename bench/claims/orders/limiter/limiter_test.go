package limiter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is an Acquire in progress or done.
type asked struct {
	Permit
	err  error
	over bool
	took time.Duration
}

// ask calls Acquire in the background; in a bubble, all that can finish has finished when it
// returns.
func ask(ctx context.Context, l Limiter, weight int) *asked {
	a, begin := &asked{}, time.Now()
	go func() {
		a.Permit, a.err = l.Acquire(ctx, weight)
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

func expect(t *testing.T, l Limiter, want Stats) {
	t.Helper()
	if got := l.Stats(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Requests are admitted in order, even when later ones need fewer units.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewFixed(Fixed{Limit: 3, MaxWaiting: 2})
		two := ask(t.Context(), l, 2)
		two.want(t, "the first", true, nil)
		heavy, light := ask(t.Context(), l, 2), ask(t.Context(), l, 1)
		heavy.want(t, "without room", false, nil)
		light.want(t, "behind one without room", false, nil)
		ask(t.Context(), l, 1).want(t, "one too many", true, ErrFull)
		expect(t, l, Stats{Limit: 3, InUse: 2, Waiting: 2, Refused: 1})
		two.Release(Good)
		heavy.want(t, "with room", true, nil)
		light.want(t, "with room", true, nil)
		expect(t, l, Stats{Limit: 3, InUse: 3, Refused: 1})
	})
}

// A request that gives up, or has waited for MaxWait, makes room for later ones.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewFixed(Fixed{Limit: 2, MaxWaiting: 9, MaxWait: time.Second})
		ask(t.Context(), l, 1)
		ctx, cancel := context.WithCancel(t.Context())
		heavy, light := ask(ctx, l, 2), ask(t.Context(), l, 1)
		light.want(t, "behind", false, nil)
		cancel()
		heavy.want(t, "cancelled", true, context.Canceled)
		light.want(t, "behind one that gave up", true, nil)
		expect(t, l, Stats{Limit: 2, InUse: 2})
		ask(ctx, l, 1).want(t, "late", true, context.Canceled)

		late := ask(t.Context(), l, 1)
		time.Sleep(time.Minute)
		late.want(t, "after a minute", true, ErrTimeout)
		if late.took != time.Second {
			t.Errorf("waited %v", late.took)
		}
		expect(t, l, Stats{Limit: 2, InUse: 2, Refused: 1})
	})
}

// A weight above the limit takes all of it, and returns it.
func TestHeavierThanTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewFixed(Fixed{Limit: 2, MaxWaiting: 1})
		one := ask(t.Context(), l, 0)
		all := ask(t.Context(), l, 9)
		all.want(t, "while one is in", false, nil)
		one.Release(Good)
		all.want(t, "alone", true, nil)
		expect(t, l, Stats{Limit: 2, InUse: 2})
		all.Release(Good)
		expect(t, l, Stats{Limit: 2})
	})
}

// The zero Permit belongs to no limiter, and a zero configuration admits one request and lets none
// wait.
func TestZero(t *testing.T) {
	Permit{}.Release(Dropped)
	for _, l := range []Limiter{NewFixed(Fixed{}), NewAIMD(AIMD{})} {
		if _, err := l.Acquire(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if _, err := l.Acquire(t.Context(), 1); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
	}
}

// busy keeps a limiter as full as it allows.
type busy struct {
	Limiter
	t  *testing.T
	in []Permit // oldest first
}

func (b *busy) fill() {
	for {
		p, err := b.Acquire(b.t.Context(), 1)
		if err != nil {
			return
		}
		b.in = append(b.in, p)
	}
}

// end ends the n oldest with the same outcome, each after a duration, and replaces them.
func (b *busy) end(n int, took time.Duration, o Outcome) (limit int) {
	time.Sleep(took)
	for range n {
		b.in[0].Release(o)
		b.in = b.in[1:]
		b.fill()
	}
	return b.Stats().Limit
}

// The limit rises by one for a limit's worth of good outcomes up to Max, falls once for all
// requests in progress down to Min, and ignores Ignored outcomes.
func TestAdapts(t *testing.T) {
	const good, slow = 10 * time.Millisecond, 11 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		l := &busy{Limiter: NewAIMD(AIMD{Min: 4, Max: 7, Target: good}), t: t}
		l.fill()
		for i, step := range []struct {
			n    int
			took time.Duration
			o    Outcome
			want int
		}{
			{3, good, Good, 4}, {1, 0, Good, 5},
			{4, good, Good, 5}, {1, 0, Good, 6},
			{6, good, Ignored, 6}, {6, slow, Ignored, 6},
			{6, good, Good, 7},
			{7, good, Good, 7}, {7, good, Good, 7},
			{1, slow, Good, 5}, {6, 0, Good, 5},
			{5, good, Good, 6},
			{1, good, Dropped, 4}, {1, good, Dropped, 4},
		} {
			if got := l.end(step.n, step.took, step.o); got != step.want {
				t.Errorf("step %d, %+v: the limit is %d", i, step, got)
			}
		}
	})
}

// With few requests in progress, good outcomes do not raise the limit.
func TestDoesNotRiseIdle(t *testing.T) {
	l := NewAIMD(AIMD{Min: 4, Max: 9})
	for range 100 {
		p, err := l.Acquire(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		p.Release(Good)
	}
	expect(t, l, Stats{Limit: 4})
}

// After a cut, no request is admitted until there is room again.
func TestCutUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newSemaphore(4, 9, 0)
		l.control = &control{AIMD: AIMD{Min: 2, Max: 4}}
		var in []*asked
		for range 4 {
			in = append(in, ask(t.Context(), l, 1))
		}
		waits := ask(t.Context(), l, 1)
		in[0].Release(Dropped)
		expect(t, l, Stats{Limit: 3, InUse: 3, Waiting: 1})
		waits.want(t, "after the cut", false, nil)
		in[1].Release(Ignored)
		waits.want(t, "with room again", true, nil)
	})
}

func TestNoAllocations(t *testing.T) {
	for name, l := range map[string]Limiter{
		"fixed": NewFixed(Fixed{Limit: 2}), "aimd": NewAIMD(AIMD{Min: 2, Max: 9, Target: time.Second}),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if n := testing.AllocsPerRun(1000, func() {
			p, err := l.Acquire(ctx, 1)
			if err != nil {
				t.Error(err)
			}
			p.Release(Good)
		}); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAcquire(b *testing.B) {
	for name, l := range map[string]Limiter{
		"fixed": NewFixed(Fixed{Limit: 64}), "aimd": NewAIMD(AIMD{Min: 64, Max: 64, Target: time.Second}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					p, _ := l.Acquire(context.Background(), 1)
					p.Release(Good)
				}
			})
		})
	}
}
