package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"dyno/agent"
	"dyno/lab/record"

	"pgregory.net/rapid"
)

func TestServerOfTwoSamples(t *testing.T) {
	a := sample{Sample: agent.Sample{At: 10 * window, CPU: 5, Delay: 1, Allocs: 1000, AllocBytes: 50_000, GCCycles: 4, GCPause: 0.010, GCCPU: 0.5, MutexWait: 2}}
	b := sample{Sample: agent.Sample{At: 11 * window, CPU: 5.15, Delay: 1.02, Allocs: 1500, AllocBytes: 90_000, GCCycles: 5, GCPause: 0.0125, GCCPU: 0.53, MutexWait: 2.4,
		Goroutines: 70, HeapLive: 1 << 20, HeapGoal: 2 << 20, SchedP99: 0.00025, Gauges: map[string]float64{"depth": 7}, Profiling: true}}
	var got record.Server
	a.server(b, &got)
	want := record.Server{CPU: 1.5, Delay: 0.2, Goroutines: 70, HeapLive: 1 << 20, HeapGoal: 2 << 20, Allocs: 5000, AllocBytes: 400_000, GCCycles: 10, GCPauseMs: 2.5,
		GCCPU: 0.3, MutexWait: 4, SchedP99Us: 250, Profiling: true, AgentSeen: true}
	if got.Gauges["depth"] != 7 {
		t.Errorf("gauges %v", got.Gauges)
	}
	got.Gauges = nil
	if g, w := fmt.Sprintf("%.6f", flat(got)), fmt.Sprintf("%.6f", flat(want)); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
	// the target was restarted
	a.server(sample{Sample: agent.Sample{At: 11 * window, CPU: 0.1}}, &got)
	if got.CPU != 0 || got.Delay != 0 || got.Allocs != 0 || got.GCPauseMs != 0 || got.GCCPU != 0 {
		t.Errorf("sums that fell gave %+v", got)
	}
}

func flat(s record.Server) []float64 {
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	return []float64{s.CPU, s.Delay, float64(s.Goroutines), float64(s.HeapLive), float64(s.HeapGoal), s.Allocs, s.AllocBytes, s.GCCycles, s.GCPauseMs,
		s.GCCPU, s.MutexWait, s.SchedP99Us, flag(s.Profiling), flag(s.AgentSeen)}
}

func TestFilledSampleLiesBetween(t *testing.T) {
	a := sample{Sample: agent.Sample{At: 10 * window, CPU: 1, SystemCPU: 0.5, Delay: 7, Allocs: 100, MutexWait: 4}}
	b := sample{Sample: agent.Sample{At: 12 * window, CPU: 3, Allocs: 300, SystemCPU: 1, Delay: 9, MutexWait: 5, Goroutines: 9, Profiling: true}}
	m := a.between(b, 11*window)
	if m.At != 11*window || m.CPU != 2 || m.Allocs != 200 || m.MutexWait != 4.5 || m.SystemCPU != 0.75 || m.Delay != 8 || m.Goroutines != 9 || !m.Profiling {
		t.Errorf("half way: %+v", m)
	}
}

func TestSpanOfSamplesHasTheExtremes(t *testing.T) {
	var tl timeline[sample]
	for k := int64(1); k <= 400; k++ {
		s := sample{Sample: agent.Sample{At: k * window, Goroutines: 10, Gauges: map[string]float64{"depth": 3}}}
		switch {
		case k == 200:
			s.Goroutines, s.Gauges = 99, map[string]float64{"depth": 40, "late": 1}
		case k%4 == 0:
			s.GCPauseMax = 0.001
		}
		if k == 102 {
			s.GCPauseMax = 0.080
		}
		tl.add(s)
	}
	_, got, ok := tl.span(100*window, 300*window)
	if !ok || got.Goroutines != 99 || got.Gauges["depth"] != 40 || got.Gauges["late"] != 1 {
		t.Errorf("extremes %+v", got.Sample)
	}
	if p50, p100 := got.pauses.quantile(0.5)*1000, got.pauses.quantile(1)*1000; p50 < 1 || p50 > 1.1 || p100 < 80 || p100 > 88 {
		t.Errorf("pauses: median %v ms, longest %v ms, want 1 and 80 within 9%%", p50, p100)
	}
	if s, _ := tl.at(200); s.Gauges["depth"] != 40 || len(s.Gauges) != 2 {
		t.Errorf("asking changed the sample: %v", s.Gauges)
	}
	if s, _ := tl.at(201); len(s.Gauges) != 1 || s.Gauges["depth"] != 3 {
		t.Errorf("asking changed the sample: %v", s.Gauges)
	}
}

// Every pause that the agent reports counts once, even if samples were missed and filled in.
func TestPausesOfASpan(t *testing.T) {
	var tl timeline[sample]
	add := func(k int64, pauses ...agent.Pauses) {
		s := sample{Sample: agent.Sample{At: k * window, GCPauses: pauses}}
		for _, p := range pauses {
			s.GCPauseMax = p.UpTo
		}
		tl.add(s)
	}
	short, long := agent.Pauses{UpTo: 0.001, Count: 98}, agent.Pauses{UpTo: 0.050, Count: 2}
	add(10, agent.Pauses{UpTo: 0.5, Count: 1000}) // before the span
	add(11, short)
	add(15, long) // three samples were missed
	add(16)
	first, last, ok := tl.span(10*window, 16*window)
	if !ok || first.At != 10*window {
		t.Fatal("no span")
	}
	got := last.pauses.buckets()
	if len(got) != 2 || got[0].Count != 98 || got[1].Count != 2 || got[0].UpToMs < 1 || got[0].UpToMs > 1.1 || got[1].UpToMs < 50 || got[1].UpToMs > 55 {
		t.Errorf("pauses %+v", got)
	}
	if p98, p99 := last.pauses.quantile(0.98)*1000, last.pauses.quantile(0.99)*1000; p98 > 1.1 || p99 < 50 {
		t.Errorf("p98 %v ms, p99 %v ms", p98, p99)
	}
	if s, _ := tl.at(12); s.At != 12*window || len(s.GCPauses) != 0 {
		t.Errorf("a filled sample has pauses: %+v", s.Sample)
	}
	var none *pauses
	if none.buckets() != nil {
		t.Error("no pauses have buckets")
	}
}

// Absurd pauses in a stream still give figures.
func TestPausesAreBounded(t *testing.T) {
	var p *pauses
	lie := sample{Sample: agent.Sample{GCPauses: []agent.Pauses{{UpTo: 1e300, Count: math.MaxUint64}, {UpTo: 0, Count: math.MaxUint64}}}}
	for range 3 {
		p = p.with(lie)
		p = p.with(sample{pauses: p})
	}
	got := p.buckets()
	if len(got) != 2 || got[0].Count != maxPauses || got[1].Count != maxPauses || got[1].UpToMs > 20_000 {
		t.Errorf("%+v", got)
	}
}

// A quantile is not below the pause that it stands for, and at most 9% above it.
func TestPauseBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := math.Pow(10, rapid.Float64Range(-6, 1.2).Draw(t, "exponent"))
		var p *pauses
		p = p.with(sample{Sample: agent.Sample{GCPauseMax: seconds}})
		if got := p.quantile(0.99); got < seconds*(1-1e-9) || got > seconds*1.0906 {
			t.Fatalf("%v s was counted as %v s", seconds, got)
		}
	})
	var none *pauses
	if none.quantile(0.99) != 0 || none.with(sample{}) != nil {
		t.Error("no pauses have a quantile")
	}
}

func TestParseSample(t *testing.T) {
	line, err := json.Marshal(agent.Sample{At: 5, CPU: 1, Gauges: map[string]float64{"a": 1}})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := parseSample(line); err != nil || s.At != 5 || s.CPU != 1 || s.Gauges["a"] != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{``, `null`, `{}`, `[]`, `{"t_ns":0}`, `{"t_ns":-5}`, `{"t_ns":5,"cpu_s":-1}`, `{"t_ns":5,"system_cpu_s":-1}`, `{"t_ns":5,"delay_s":-1}`, `{"t_ns":5,"gc_pauses":[{"up_to_s":-1,"count":1}]}`, `{"t_ns":5,"gc_pauses":[{"up_to_s":1,"count":-1}]}`, `{"t_ns":5,"goroutines":-1}`, `{"t_ns":9223372036854775807}`, `{"t_ns":5,"allocs":-1}`, `{"t_ns":5`} {
		if s, err := parseSample([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, s)
		}
	}
	var many strings.Builder
	many.WriteString(`{"t_ns":5,"gauges":{"x":0`)
	for i := range 2 * maxGauges {
		fmt.Fprintf(&many, `,"g%d":1`, i)
	}
	many.WriteString(`}}`)
	if s, err := parseSample([]byte(many.String())); err != nil || len(s.Gauges) != maxGauges {
		t.Errorf("%d gauges were kept, %v", len(s.Gauges), err)
	}
}

func TestReadSamplesPassesOverNoise(t *testing.T) {
	var got []int64
	take := func(s sample) { got = append(got, s.At) }
	readSamples(strings.NewReader("{\"t_ns\":1}\nnoise\n\n{\"t_ns\":2}\n{\"t_ns\":3"), take)
	readSamples(strings.NewReader("{\"t_ns\":4}\n"+strings.Repeat("x", maxSampleLine+1)+"\n{\"t_ns\":5}"), take)
	if fmt.Sprint(got) != "[1 2 4]" {
		t.Errorf("read %v", got)
	}
}

// Samples read from any stream fit into a timeline, and give valid figures.
func FuzzReadSamples(f *testing.F) {
	f.Add([]byte("{\"t_ns\":100000000,\"cpu_s\":1,\"gauges\":{\"a\":-5}}\n{\"t_ns\":200000000,\"cpu_s\":2,\"gc_pause_max_s\":1e300}\n"))
	f.Add([]byte("{\"t_ns\":100000000}\n{\"t_ns\":200000000,\"gc_pauses\":[{\"up_to_s\":1e-9,\"count\":18446744073709551615},{\"up_to_s\":0.1,\"count\":0}]}\n"))
	f.Add([]byte("{\"t_ns\":4611686018427387903,\"allocs\":18446744073709551615}\n{\"t_ns\":1}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var tl timeline[sample]
		readSamples(bytes.NewReader(b), func(s sample) { tl.add(s) })
		a, z, ok := tl.span(0, math.MaxInt64/2)
		if !ok {
			return
		}
		var s record.Server
		a.server(z, &s)
		for _, v := range flat(s) {
			if v < 0 || math.IsNaN(v) {
				t.Errorf("%+v", s)
			}
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("a window that cannot be written: %v", err)
		}
		for _, b := range z.pauses.buckets() {
			if !(b.UpToMs > 0 && b.UpToMs < 20_000) || b.Count <= 0 {
				t.Errorf("a pause bucket %+v", b)
			}
		}
	})
}
