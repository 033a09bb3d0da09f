package findings

import (
	"testing"

	"dyno/lab/record"
)

func TestGoroutineLeak(t *testing.T) {
	rising := func(i int) *record.Server { return &record.Server{Goroutines: int64(100 + i)} }
	level := func(i int) *record.Server { return &record.Server{Goroutines: int64(100 + 40*(i%2))} }
	wave := func(i int) *record.Server { return &record.Server{Goroutines: int64(100 + 30*(i/30%2))} }
	overloaded := series(100, rising)
	overloaded.Totals.ThroughputPerS = 900
	spoilt := series(100, rising)
	spoilt.Invalid = "neighbours"

	const stuck, reading = "runtime.gopark < runtime.chansend < runtime.chansend1 < main.notify < main.handle.func1",
		"runtime.gopark < runtime.netpollblock < internal/poll.(*FD).Read < net.(*conn).Read < net/http.(*connReader).backgroundRead"
	const ticking = "runtime.gopark < runtime.selectgo < main.watch < main.handle.func2"
	snapshots := func(run func(int) *record.Server, before, after stacksOf, more ...*record.Run) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			r := profiled(t)
			if run != nil {
				r.Series = series(60, run).Series
			}
			take(t, r, record.ProfileGoroStart, []string{record.ValueGoroutines}, before)
			take(t, r, record.ProfileGoroutine, []string{record.ValueGoroutines}, after)
			return Subject{Profiled: r, Other: more}
		}
	}
	leaving := func(s func(*testing.T) Subject, left stacksOf) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			out := s(t)
			take(t, out.Profiled, record.ProfileGoroLeft, []string{record.ValueGoroutines}, left)
			return out
		}
	}
	check(t, []expectation{
		{name: "rises in each run", kind: KindGoroutines, fires: true, subject: func(t *testing.T) Subject { return others(series(100, rising), series(100, rising)) },
			evidence: map[string]float64{"goroutine_growth": 67}, words: []string{"in 2 of 2 runs"}},
		{name: "with its stack", kind: KindGoroutines, fires: true, place: "main.notify", subject: snapshots(rising, stacksOf{stuck: {10}}, stacksOf{stuck: {75}}),
			evidence: map[string]float64{"stack_growth": 65}, words: []string{"There were 10 in main.notify (main.go:21), then 75"}},
		{name: "two leaks together", kind: KindGoroutines, fires: true, place: "main.notify",
			subject: snapshots(nil, stacksOf{stuck: {10}, ticking: {0}}, stacksOf{stuck: {175}, ticking: {100}, "runtime.gopark < runtime.chanrecv < main.few": {15}}),
			words:   []string{"There were 10 in main.notify (main.go:21), then 175; there were 0 in main.watch (main.go:20), then 100."}},
		{name: "one that is small beside the other", kind: KindGoroutines, fires: true, place: "main.notify",
			subject: snapshots(nil, stacksOf{stuck: {10}}, stacksOf{stuck: {1000}, ticking: {50}}),
			words:   []string{"There were 10 in main.notify (main.go:21), then 1000."}},
		{name: "by the stack alone", kind: KindGoroutines, fires: true, place: "main.notify", subject: snapshots(nil, stacksOf{stuck: {10}}, stacksOf{stuck: {75}})},
		{name: "the number of all stays", kind: KindGoroutines, subject: snapshots(level, stacksOf{stuck: {10}}, stacksOf{stuck: {75}})},
		{name: "connections come and go", kind: KindGoroutines, subject: snapshots(nil, stacksOf{reading: {10}}, stacksOf{reading: {200}})},
		{name: "no more than are in flight", kind: KindGoroutines, subject: func(t *testing.T) Subject {
			s := snapshots(nil, stacksOf{stuck: {10}}, stacksOf{stuck: {75}})(t)
			s.Profiled.Spec.Connections = 100
			return s
		}},
		{name: "many requests at the same point", kind: KindGoroutines, subject: snapshots(nil, stacksOf{"syscall.write < net.(*conn).Write < net/http.(*response).finishRequest < net/http.(*conn).serve": {1}},
			stacksOf{"syscall.write < net.(*conn).Write < net/http.(*response).finishRequest < net/http.(*conn).serve": {75}})},
		{name: "handlers that never end", kind: KindGoroutines, fires: true, place: "main.handle", subject: snapshots(rising, stacksOf{"runtime.gopark < runtime.chanrecv" + handler: {1}}, stacksOf{"runtime.gopark < runtime.chanrecv" + handler: {75}})},
		{name: "gone when the load has ended", kind: KindGoroutines, subject: leaving(snapshots(nil, stacksOf{stuck: {10}}, stacksOf{stuck: {275}}), stacksOf{reading: {3}})},
		{name: "rises in each run, and gone when the load has ended", kind: KindGoroutines, subject: leaving(snapshots(rising, stacksOf{stuck: {10}}, stacksOf{stuck: {75}}), stacksOf{stuck: {4}})},
		{name: "still there when the load has ended", kind: KindGoroutines, fires: true, place: "main.notify", subject: leaving(snapshots(nil, stacksOf{stuck: {10}}, stacksOf{stuck: {275}}), stacksOf{stuck: {270}})},
		{name: "a stack fluctuates", kind: KindGoroutines, subject: snapshots(nil, stacksOf{stuck: {200}}, stacksOf{stuck: {225}})},
		{name: "up and down", kind: KindGoroutines, subject: func(t *testing.T) Subject { return others(series(100, level)) }},
		{name: "a little more than many", kind: KindGoroutines, subject: func(t *testing.T) Subject {
			return others(series(100, func(i int) *record.Server { return &record.Server{Goroutines: int64(2000 + i)} }))
		}},
		{name: "a wave", kind: KindGoroutines, subject: func(t *testing.T) Subject { return others(series(120, wave)) }},
		{name: "with the backlog", kind: KindGoroutines, subject: func(t *testing.T) Subject { return others(overloaded) }},
		{name: "in a run that does not count", kind: KindGoroutines, subject: func(t *testing.T) Subject { return others(spoilt) }},
		{name: "in one run of three", kind: KindGoroutines, subject: func(t *testing.T) Subject { return others(series(100, rising), series(100, level), series(100, level)) }},
	})
}
