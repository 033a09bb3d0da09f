package timers

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// op is a step of a model test.
type op struct {
	Do    string // start, stop or pass
	Timer int
	For   time.Duration
}

var anyOp = rapid.Custom(func(t *rapid.T) op {
	const tick = int64(time.Millisecond)
	spans := rapid.OneOf(
		rapid.Int64Range(-1, 3*tick),
		rapid.Int64Range(0, 200*tick),
		rapid.Int64Range(0, int64(48*time.Hour)),
	)
	return op{
		rapid.SampledFrom([]string{"start", "start", "stop", "pass"}).Draw(t, "do"),
		rapid.IntRange(0, 7).Draw(t, "timer"),
		time.Duration(spans.Draw(t, "for")),
	}
})

// TestLikeASortedList starts, moves and stops timers at random and lets time pass. The timers that
// fire are those at the front of a sorted list, in its order, each within a tick of its deadline.
func TestLikeASortedList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(anyOp, 1, 60).Draw(rt, "ops")
		var err error
		running(t, time.Millisecond, func(_ *testing.T, q *Queue) { err = newModel(q).follow(ops) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

type model struct {
	q      *Queue
	timers [8]Timer
	fired  []entry
	list   []entry // sorted
}

// entry is a timer and the time when it is due, or when it fired.
type entry struct {
	timer int
	at    time.Time
}

func newModel(q *Queue) *model {
	m := &model{q: q}
	for i := range m.timers {
		m.timers[i].Init(func() { m.fired = append(m.fired, entry{i, time.Now()}) })
	}
	return m
}

func (m *model) follow(ops []op) error {
	for n, o := range ops {
		if err := m.step(o); err != nil {
			return fmt.Errorf("step %d, %+v: %q", n, o, err)
		}
		if m.q.count() != len(m.list) {
			return fmt.Errorf("step %d, %+v: %d pending, want %d", n, o, m.q.count(), len(m.list))
		}
	}
	return nil
}

func (m *model) step(o op) error {
	k := slices.IndexFunc(m.list, func(e entry) bool { return e.timer == o.Timer })
	if o.Do != "pass" && k >= 0 {
		m.list = slices.Delete(m.list, k, k+1)
	}
	switch o.Do {
	case "start":
		m.q.Start(&m.timers[o.Timer], o.For)
		m.list = append(m.list, entry{o.Timer, time.Now().Add(max(o.For, 0))})
		slices.SortStableFunc(m.list, func(a, b entry) int { return a.at.Compare(b.at) })
	case "stop":
		if got := m.q.Stop(&m.timers[o.Timer]); got != (k >= 0) {
			return fmt.Errorf("Stop says %v", got)
		}
	case "pass":
		time.Sleep(max(o.For, 0))
	}
	synctest.Wait()
	return m.compare()
}

// compare removes fired timers from the list.
func (m *model) compare() error {
	for _, shot := range m.fired {
		k := slices.IndexFunc(m.list, func(e entry) bool { return e.timer == shot.timer })
		if k < 0 {
			return fmt.Errorf("timer %d fires and should not", shot.timer)
		}
		if late := shot.at.Sub(m.list[k].at); late < 0 || late > time.Millisecond {
			return fmt.Errorf("timer %d fires %v late", shot.timer, late)
		}
		if ahead := m.list[k].at.Sub(m.list[0].at); ahead > time.Millisecond {
			return fmt.Errorf("timer %d fires %v before its turn", shot.timer, ahead)
		}
		m.list = slices.Delete(m.list, k, k+1)
	}
	m.fired = m.fired[:0]
	if len(m.list) > 0 && time.Since(m.list[0].at) > time.Millisecond {
		return fmt.Errorf("timer %d is overdue by %v", m.list[0].timer, time.Since(m.list[0].at))
	}
	return nil
}
