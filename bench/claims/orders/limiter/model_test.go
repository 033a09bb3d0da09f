package limiter

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// op is a step of the model. Which is an index into the admitted or the waiting requests.
type op struct {
	Do      string // ask, release, cancel, pass
	Which   int
	Weight  int
	Outcome Outcome
}

type history struct {
	Fixed bool
	AIMD  // a fixed limit is Max
	Ops   []op
}

var anyHistory = rapid.Custom(func(t *rapid.T) history {
	anyOp := rapid.Custom(func(t *rapid.T) op {
		return op{
			rapid.SampledFrom([]string{"ask", "ask", "ask", "release", "release", "cancel", "pass"}).Draw(t, "do"),
			rapid.IntRange(0, 9).Draw(t, "which"),
			rapid.IntRange(1, 4).Draw(t, "weight"),
			rapid.SampledFrom([]Outcome{Good, Good, Good, Dropped, Ignored}).Draw(t, "outcome"),
		}
	})
	least := rapid.IntRange(1, 5).Draw(t, "min")
	return history{
		rapid.Bool().Draw(t, "fixed"),
		AIMD{least, least + rapid.IntRange(0, 3).Draw(t, "max"), 2 * time.Second,
			rapid.IntRange(0, 4).Draw(t, "waiting"), time.Duration(rapid.IntRange(0, 5).Draw(t, "wait")) * time.Second},
		rapid.SliceOfN(anyOp, 20, 80).Draw(t, "ops"),
	}
})

// TestInvariants runs acquires, releases, cancellations and waits at random. After every step: the
// units in use are those of the permits, and rise at most to the limit; the queue is within its
// bound; no request waits while there is room, or longer than MaxWait; no request overtakes an
// earlier one; the limit is within its bounds.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := anyHistory.Draw(rt, "history")
		var err error
		synctest.Test(t, func(*testing.T) { err = newModel(h).follow(h.Ops) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

type model struct {
	h       history
	l       Limiter
	waiting []*request // in order of arrival
	in      []*request
	inUse   int // before the step
}

type request struct {
	asked
	weight int
	begin  time.Time
	cancel context.CancelFunc
}

func newModel(h history) *model {
	m := &model{h: h, l: NewAIMD(h.AIMD)}
	if h.Fixed {
		m.l = NewFixed(Fixed{h.Max, h.MaxWaiting, h.MaxWait})
	}
	return m
}

func (m *model) follow(ops []op) error {
	defer m.stop()
	for i, o := range ops {
		m.step(o)
		if err := m.check(); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, o, err)
		}
	}
	return m.end()
}

func (m *model) step(o op) {
	m.inUse = m.l.Stats().InUse
	switch o.Do {
	case "ask":
		ctx, cancel := context.WithCancel(context.Background())
		r := &request{weight: o.Weight, begin: time.Now(), cancel: cancel}
		m.waiting = append(m.waiting, r)
		go func() {
			r.Permit, r.err = m.l.Acquire(ctx, r.weight)
			r.over = true
		}()
	case "release":
		if len(m.in) > 0 {
			i := o.Which % len(m.in)
			m.in[i].cancel()
			m.in[i].Release(o.Outcome)
			m.in = slices.Delete(m.in, i, i+1)
		}
	case "cancel":
		if len(m.waiting) > 0 {
			m.waiting[o.Which%len(m.waiting)].cancel()
		}
	case "pass":
		time.Sleep(time.Second)
	}
	synctest.Wait()
}

// check sorts out finished requests, and checks the others.
func (m *model) check() error {
	overtaken := false
	for i := 0; i < len(m.waiting); {
		r := m.waiting[i]
		if !r.over {
			overtaken = true
			i++
			continue
		}
		m.waiting = slices.Delete(m.waiting, i, i+1)
		if r.err != nil {
			r.cancel()
		} else {
			if overtaken {
				return fmt.Errorf("one that weighs %d was let in before its turn", r.weight)
			}
			m.in = append(m.in, r)
		}
	}
	return m.look()
}

func (m *model) look() error {
	s, inUse := m.l.Stats(), 0
	for _, r := range m.in {
		inUse += r.units
	}
	if s.InUse != inUse || s.Waiting != len(m.waiting) {
		return fmt.Errorf("%+v, but %d in use and %d waiting", s, inUse, len(m.waiting))
	}
	least := m.h.Min
	if m.h.Fixed {
		least = m.h.Max
	}
	switch {
	case s.Limit < least || s.Limit > m.h.Max:
		return fmt.Errorf("the limit is %d", s.Limit)
	case inUse > s.Limit && inUse > m.inUse:
		return fmt.Errorf("%d of %d in use", inUse, s.Limit)
	case len(m.waiting) > m.h.MaxWaiting:
		return fmt.Errorf("%d wait", len(m.waiting))
	case len(m.waiting) == 0:
		return nil
	}
	first := m.waiting[0]
	if need := min(first.weight, s.Limit); inUse+need <= s.Limit {
		return fmt.Errorf("one that needs %d waits, with %d of %d in use", need, inUse, s.Limit)
	}
	if waited := time.Since(first.begin); m.h.MaxWait > 0 && waited >= m.h.MaxWait {
		return fmt.Errorf("one waits for %v", waited)
	}
	return nil
}

// end lets all requests finish; then no units are in use and no request waits.
func (m *model) end() error {
	for len(m.in) > 0 {
		m.step(op{Do: "release", Outcome: Ignored})
		if err := m.check(); err != nil {
			return fmt.Errorf("at the end: %w", err)
		}
	}
	if s := m.l.Stats(); s.InUse != 0 || s.Waiting != 0 {
		return fmt.Errorf("at the end: %+v", s)
	}
	return nil
}

// stop lets the bubble end, also after a failure.
func (m *model) stop() {
	for _, r := range slices.Concat(m.in, m.waiting) {
		r.cancel()
	}
}
