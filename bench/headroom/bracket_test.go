package main

import (
	"math"
	"testing"

	"dyno/lab/record"
)

var (
	put  = record.Frame{Function: "dyno/subjects/store.(*Index).Put", File: "store.go", Line: 10, Own: true}
	loop = record.Frame{Function: "dyno/subjects/store.(*Index).loop", File: "store.go", Line: 20, Own: true}
	lock = record.Frame{Function: "sync.(*Mutex).Lock"}
)

func at(t *record.Trace) facts {
	t.Seconds, t.Procs = 1, 2
	return facts{rate: 100, cores: 2, service: 0.3, generator: 0.2, trace: t}
}

func TestUtilisation(t *testing.T) {
	for _, u := range []float64{0.05, 0.3, 0.5, 0.9} {
		for _, c2 := range []float64{0, 1, 3} {
			q := u * u * (1 + c2) / 2 / (1 - u)
			if got := utilisation(q, c2); math.Abs(got-u) > 1e-9 {
				t.Errorf("u %v, c^2 %v: %v", u, c2, got)
			}
		}
	}
}

// A lock that is held half of the time, whatever its holders do meanwhile, can be held twice as
// often.
func TestForecastOfALock(t *testing.T) {
	const half = 0.5 * 0.5 / 2 / 0.5 * 2 // the queue of an exponential holding time
	b := forecast(at(&record.Trace{Waits: []record.Wait{
		{Reason: "sync", Stack: []record.Frame{lock, put, {Function: "net/http.HandlerFunc.ServeHTTP"}}, Seconds: half / 2, Count: 50, Goroutines: 4},
		{Reason: "sync", Stack: []record.Frame{lock, put, {Function: "net/http.HandlerFunc.ServeHTTP"}, loop}, Seconds: half / 2, Count: 50, Goroutines: 4},
	}}))
	if b.First != "lock" || len(b.Ceilings) != 1 || !(b.AtLeast < 2 && 2 < b.AtMost) || b.CPU != 4 {
		t.Errorf("%+v", b)
	}
}

func TestForecastOfAGoroutine(t *testing.T) {
	busy := func(wakes int64) bracket {
		return forecast(at(&record.Trace{
			Groups: []record.Group{{Entry: loop, Goroutines: 1, Running: 0.5, Waiting: 0.5}},
			Waits:  []record.Wait{{Reason: "chan receive", Stack: []record.Frame{loop}, Entry: loop, Seconds: 0.5, Count: wakes, Goroutines: 1}},
		}))
	}
	if b := busy(100); b.First != "goroutine" || b.AtMost != 2 {
		t.Errorf("one request a wake-up: %+v", b)
	}
	if b := busy(10); b.First != "cpu" || b.AtMost != 0 {
		t.Errorf("ten requests a wake-up: %+v", b)
	}
}
