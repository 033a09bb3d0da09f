package findings

import (
	"math"
	"math/rand/v2"
	"testing"

	"dyno/lab/record"
)

var heapTypes = []string{record.ValueAllocObjects, record.ValueAllocBytes, record.ValueInUseObjects, record.ValueInUseBytes}

const mib = 1 << 20

// withHeap adds heap profiles from before and after the load to a subject. The values are
// allocated objects and bytes, live objects and bytes.
func withHeap(t *testing.T, s Subject, before, after stacksOf) Subject {
	t.Helper()
	take(t, s.Profiled, record.ProfileHeapStart, heapTypes, before)
	take(t, s.Profiled, record.ProfileHeap, heapTypes, after)
	return s
}

func TestAllocations(t *testing.T) {
	before := stacksOf{"main.load < main.main": {1000, 100 * mib, 1, 1}}
	after := stacksOf{"main.load < main.main": {1000, 100 * mib, 1, 1},
		"encoding/json.Marshal < main.encode" + handler: {20_000, 15 * mib, 1, 1},
		"main.route" + handler:                          {20_000, 5 * mib, 1, 1}}
	allocating := stacksOf{"runtime.mallocgc < main.encode" + handler: sampled(1), "main.work" + handler: sampled(3)}
	computing := stacksOf{"runtime.mallocgc < main.encode" + handler: sampled(0.1), "main.work" + handler: sampled(3)}
	check(t, []expectation{
		{name: "a quarter of the CPU", kind: KindAllocations, fires: true, place: "main.encode",
			subject:  func(t *testing.T) Subject { return withHeap(t, withCPU(t, allocating), before, after) },
			evidence: map[string]float64{"bytes_per_request": 10_486, "site_bytes_per_request": 7864, "objects_per_request": 20, "allocation_share": 0.25}},
		{name: "cheap", kind: KindAllocations, subject: func(t *testing.T) Subject { return withHeap(t, withCPU(t, computing), before, after) }},
		{name: "little, cost unknown", kind: KindAllocations, subject: func(t *testing.T) Subject { return withHeap(t, Subject{Profiled: profiled(t)}, before, after) }},
		{name: "much, cost unknown", kind: KindAllocations, fires: true, subject: func(t *testing.T) Subject {
			return withHeap(t, Subject{Profiled: profiled(t)}, stacksOf{}, stacksOf{"main.encode" + handler: {2000, 200 * mib, 1, 1}})
		}},
	})
}

// collected returns the live heap of each window: a value that changes every fourth window, as
// after a collection, and fluctuates by 5% around mean (MiB).
func collected(mean func(i int) float64) func(int) *record.Server {
	return func(i int) *record.Server {
		i -= i % 4
		return &record.Server{HeapLive: int64(mean(i) * (1 + 0.05*math.Sin(float64(i))) * mib)}
	}
}

func TestHeapLeak(t *testing.T) {
	growing := collected(func(i int) float64 { return 50 + float64(i) })
	level := collected(func(int) float64 { return 50 })
	warming := collected(func(i int) float64 { return 50 + math.Min(float64(i), 40) })
	overloaded := series(100, growing)
	overloaded.Totals.ThroughputPerS = 800
	sites := func(t *testing.T, s Subject) Subject {
		s.Profiled = profiled(t)
		return withHeap(t, s, stacksOf{"main.load < main.main": {1, 1, 1, 30 * mib}, "main.remember" + handler: {1, 1, 1, 20 * mib}},
			stacksOf{"main.load < main.main": {1, 1, 1, 30 * mib}, "main.remember" + handler: {1, 1, 1, 60 * mib}})
	}
	check(t, []expectation{
		{name: "grows in each run", kind: KindHeap, fires: true, place: "main.remember",
			subject:  func(t *testing.T) Subject { return sites(t, others(series(100, growing), series(100, growing))) },
			evidence: map[string]float64{"heap_growth": 72.6 * mib, "heap_growth_per_request": 72.6 * mib / 7500}, words: []string{"in 2 of 2 runs", "main.remember"}},
		{name: "only the profiles say so", kind: KindHeap, fires: true, place: "main.remember",
			subject: func(t *testing.T) Subject { return sites(t, Subject{}) }, evidence: map[string]float64{"heap_growth": 40 * mib}},
		{name: "the series says otherwise", kind: KindHeap, subject: func(t *testing.T) Subject { return sites(t, others(series(100, level))) }},
		{name: "level", kind: KindHeap, subject: func(t *testing.T) Subject { return others(series(100, level)) }},
		{name: "fills up and stops", kind: KindHeap, subject: func(t *testing.T) Subject { return others(series(200, warming)) }},
		{name: "once in three runs", kind: KindHeap, subject: func(t *testing.T) Subject {
			return others(series(100, growing), series(100, level), series(100, level))
		}},
		{name: "with the backlog", kind: KindHeap, subject: func(t *testing.T) Subject { return others(overloaded) }},
		{name: "a small heap", kind: KindHeap, subject: func(t *testing.T) Subject {
			return others(series(100, collected(func(i int) float64 { return 3 + float64(i)/20 })))
		}},
		{name: "little of a large heap", kind: KindHeap, subject: func(t *testing.T) Subject {
			return others(series(100, func(i int) *record.Server { return &record.Server{HeapLive: int64(1000+i) * mib} }))
		}},
		{name: "collected too seldom", kind: KindHeap, subject: func(t *testing.T) Subject {
			return others(series(100, func(i int) *record.Server { return &record.Server{HeapLive: int64(100+i/25*50) * mib} }))
		}},
		{name: "too short", kind: KindHeap, subject: func(t *testing.T) Subject { return others(series(30, growing)) }},
	})
}

// bucketed counts durations by the runtime's buckets, which are quarters of each octave of ns.
func bucketed(ms []float64) []record.PauseBucket {
	counts := map[float64]int64{}
	for _, v := range ms {
		ns := v * 1e6
		octave := math.Exp2(math.Floor(math.Log2(ns)))
		upTo := octave * (1 + math.Ceil((ns/octave-1)*4)/4)
		counts[upTo/1e6]++
	}
	var out []record.PauseBucket
	for upTo, n := range counts {
		out = append(out, record.PauseBucket{UpToMs: upTo, Count: n})
	}
	return out
}

// pauses draws n pauses around ms, log-normally with this standard deviation (of the natural
// logarithm).
func pauses(rng *rand.Rand, n int, ms, spread float64) []float64 {
	var out []float64
	for range n {
		out = append(out, ms*math.Exp(rng.NormFloat64()*spread))
	}
	return out
}

func TestGCPauses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	with := func(ms ...[]float64) func(*testing.T) Subject {
		return func(t *testing.T) Subject {
			r := &record.Run{Totals: record.Totals{Response: record.Quantiles{P99: 10}, Server: &record.ServerTotals{}}}
			var all []float64
			for _, m := range ms {
				all = append(all, m...)
			}
			r.Totals.Server.GCPauses = bucketed(all)
			return others(r)
		}
	}
	check(t, []expectation{
		{name: "two groups", kind: KindGCPauses, fires: true, subject: with(pauses(rng, 900, 0.05, 0.4), pauses(rng, 100, 2, 0.4)),
			evidence: map[string]float64{"gc_pause_long": 2.097, "gc_pause_short": 0.0655, "gc_pause_long_share": 0.1}, words: []string{"long-lived"}},
		{name: "as many of each", kind: KindGCPauses, fires: true, subject: with(pauses(rng, 500, 0.05, 0.4), pauses(rng, 500, 2, 0.4)), words: []string{"two pauses of every cycle"}},
		{name: "one group", kind: KindGCPauses, subject: with(pauses(rng, 1000, 0.2, 0.8))},
		{name: "outliers", kind: KindGCPauses, subject: with(pauses(rng, 1000, 0.05, 0.4), pauses(rng, 12, 5, 0.1))},
		{name: "too short to be felt", kind: KindGCPauses, subject: with(pauses(rng, 900, 0.002, 0.4), pauses(rng, 100, 0.1, 0.4))},
		{name: "none", kind: KindGCPauses, subject: with()},
	})
}
