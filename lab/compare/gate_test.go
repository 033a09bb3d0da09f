package compare

import (
	"strings"
	"testing"
)

func TestParseGate(t *testing.T) {
	for s, want := range map[string]Gate{
		"capacity>=0.97":    {MetricCapacity, ">=", 0.97},
		" capacity >= 97% ": {MetricCapacity, ">=", 0.97},
		"p99<=1.1":          {MetricP99, "<=", 1.1},
		"cpu<=105%":         {MetricCPU, "<=", 1.05},
		"Work > 0.9":        {MetricWork, ">=", 0.9},
		"P99≤1.2":           {MetricP99, "<=", 1.2},
	} {
		if got, err := ParseGate(s); err != nil || got != want {
			t.Errorf("%q: %+v %v", s, got, err)
		}
	}
	for s, want := range map[string]string{
		"":               "neither >= nor <=",
		"capacity=0.97":  "neither >= nor <=",
		"joy>=1":         `no metric is called "joy"`,
		"throughput>=1":  `did you mean work?`,
		"p99<=20ms":      `write --slo p99=20ms for that, or for example p99<=1.1`,
		"work>=95":       `write work>=95% if that is a percentage`,
		"capacity>=fast": `"fast" is not a ratio`,
		"capacity>=0":    "not a ratio above 0",
		"capacity>=NaN":  "not a ratio above 0",
		"capacity>=Inf":  "not a ratio above 0",
	} {
		if got, err := ParseGate(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v %v, want %q", s, got, err, want)
		}
	}
}

func FuzzParseGate(f *testing.F) {
	for _, s := range []string{"capacity>=0.97", "p99<=110%", "cpu >= 1e-3", "capacity>=<=1", ">=", "p99<=0x1p-2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGate(s)
		if err != nil {
			return
		}
		if !(g.Bound > 0) || better(g.Metric) == 0 {
			t.Fatalf("%q was read as %+v", s, g)
		}
		again, err := ParseGate(g.String())
		if err != nil || again != g {
			t.Fatalf("%q: %+v is written as %q and read as %+v, %v", s, g, g.String(), again, err)
		}
	})
}

func TestGate(t *testing.T) {
	in := func(metric string, lo, hi float64) Comparison {
		return Comparison{Metric: metric, Ratio: (lo + hi) / 2, Interval: &[2]float64{lo, hi}, Samples: 8, Verdict: NotDecided}
	}
	for name, c := range map[string]struct {
		gate string
		of   Comparison
		want string
		says string
	}{
		"all above":            {"capacity>=0.97", in(MetricCapacity, 0.98, 1.02), Pass, "all of it >= 0.97"},
		"just above":           {"capacity>=0.97", in(MetricCapacity, 0.97, 1.02), Pass, ""},
		"spans, ratio above":   {"capacity>=0.97", in(MetricCapacity, 0.96, 1.02), Undecided, "about 18 pairs would decide"},
		"spans, in the middle": {"capacity>=0.97", in(MetricCapacity, 0.95, 0.99), Undecided, "too close to the bound"},
		"all below":            {"capacity>=0.97", in(MetricCapacity, 0.80, 0.96), Fail, "no part of it >= 0.97"},
		"p99 within":           {"p99<=1.1", in(MetricP99, 0.9, 1.09), Pass, ""},
		"p99 spans":            {"p99<=1.1", in(MetricP99, 0.9, 1.2), Undecided, ""},
		"p99 beyond":           {"p99<=1.1", in(MetricP99, 1.11, 1.2), Fail, ""},
		"another metric":       {"p99<=1.1", in(MetricCPU, 0.1, 0.2), Undecided, "the comparison is of cpu"},
		"none is given":        {"p99<=1.1", Comparison{Metric: MetricP99, Ratio: 1.02, Samples: 9, Verdict: NotDecided, Warnings: []string{"the processes differ"}}, Undecided, "the ratio is 1.020, but the processes differ"},
		"too few pairs":        {"capacity>=0.97", Ratio(MetricCapacity, []float64{1}, []float64{2}), Undecided, "1 pair gives no interval"},
		"invalid":              {"capacity>=0.97", Ratio(MetricCapacity, nil, nil), Undecided, "invalid: there is no pair"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := ParseGate(c.gate)
			if err != nil {
				t.Fatal(err)
			}
			got := g.Check(c.of)
			if got.Verdict != c.want || !strings.Contains(got.Text, c.says) || !strings.HasPrefix(got.Text, c.want) || got.Gate != c.gate {
				t.Errorf("%+v, want %s saying %q", got, c.want, c.says)
			}
		})
	}
}
