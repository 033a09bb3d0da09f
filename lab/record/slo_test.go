package record

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestParseSLO(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want SLO
		err  string // part of the error
	}{
		{in: "p99=20ms", want: SLO{Latency: map[string]float64{"p99": 20}, Errors: DefaultErrors}},
		{in: "p99=20ms,errors=0%", want: SLO{Latency: map[string]float64{"p99": 20}}},
		{in: "p99<=20ms, errors=0.1%", want: SLO{Latency: map[string]float64{"p99": 20}, Errors: 0.001}},
		{in: "delivery,p999=1s,p50=5ms,errors=0.01,async_oldest_age_seconds<0.5",
			want: SLO{On: OnDelivery, Latency: map[string]float64{"p999": 1000, "p50": 5}, Errors: 0.01,
				Gauges: map[string]float64{"async_oldest_age_seconds": 0.5}}},
		{in: "depth<10", want: SLO{Gauges: map[string]float64{"depth": 10}, Errors: DefaultErrors}},
		{in: "depth<10,errors=0", want: SLO{Gauges: map[string]float64{"depth": 10}}},
		{in: "", err: "bounds no latency"},
		{in: "errors=1%", err: "bounds no latency"},
		{in: "p98=20ms", err: "known are p50, p90"},
		{in: "P99 < 15 ms; ", err: `"15 ms;" is not a duration: "ms;" is not a unit of time`},
		{in: "P99 < 15 ms, errors<2%", want: SLO{Latency: map[string]float64{"p99": 15}, Errors: 0.02}},
		{in: "p99.9≤3μs,p(95): 1 sec", want: SLO{Latency: map[string]float64{"p999": 0.003, "p95": 1000}, Errors: DefaultErrors}},
		{in: "job:depth<10", want: SLO{Gauges: map[string]float64{"job:depth": 10}, Errors: DefaultErrors}},
		{in: "p99=20", err: `"20" is not a duration: it has no unit: write 20ms or 20s`},
		{in: "p99=2,5ms", err: `SLO term "p99=2": write p99=2.5ms, since a comma separates terms`},
		{in: "95p=20ms", err: `unknown quantile "95p"; did you mean p95?`},
		{in: "0.99=20ms", err: `did you mean p99?`},
		{in: "avg=20ms", err: `did you mean mean?`},
		{in: "p99=1s,failures=2%", err: `did you mean errors?`},
		{in: "p99=1s,p99=2s", err: `SLO term "p99=2s": p99 is bounded twice, by p99=1s before`},
		{in: "p99=1s,p99=1s", want: SLO{Latency: map[string]float64{"p99": 1000}, Errors: DefaultErrors}},
		{in: "delivery,response,p99=1s", err: "on is bounded twice"},
		{in: "p99=1s errors=1%", err: "more than one bound; write a comma between terms"},
		{in: "p99>=1s", err: "a bound is the most that is permitted; write p99=1s"},
		{in: "p99=1s,errors=1", err: "write errors=1% or errors=100%"},
		{in: "p99=-1ms", err: "not a duration"},
		{in: "p99", err: "expected name=bound"},
		{in: "p99=1ms,errors=110%", err: "not a share"},
		{in: "depth<NaN", err: "number above 0"},
	} {
		got, err := ParseSLO(tt.in)
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q: error %v, want one with %q", tt.in, err, tt.err)
		case tt.err == "" && err != nil:
			t.Errorf("%q: %v", tt.in, err)
		case tt.err == "" && !reflect.DeepEqual(got, tt.want):
			t.Errorf("%q: got %+v, want %+v", tt.in, got, tt.want)
		}
	}
}

// ParseSLO reads what String writes; UnmarshalJSON reads what MarshalJSON writes.
func FuzzSLO(f *testing.F) {
	f.Add("delivery,p99=20ms,errors=0.1%,depth<10")
	f.Add("p50=1us,max=1h")
	f.Add("depth<10,errors=0%")
	f.Fuzz(func(t *testing.T, s string) {
		slo, err := ParseSLO(s)
		if err != nil {
			return
		}
		again, err := ParseSLO(slo.String())
		if err != nil {
			t.Fatalf("%q became %q, which is refused: %v", s, slo, err)
		}
		if near := math.Abs(again.Errors-slo.Errors) <= 1e-5*slo.Errors; !near || again.On != slo.On || len(again.Latency) != len(slo.Latency) || !reflect.DeepEqual(again.Gauges, slo.Gauges) {
			t.Fatalf("%q became %q", s, again)
		}
		b, err := json.Marshal(slo)
		if err != nil {
			t.Fatal(err)
		}
		var back SLO
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, slo) {
			t.Fatalf("%s became %+v (%v), want %+v", b, back, err, slo)
		}
	})
}

func TestFramesTerm(t *testing.T) {
	slo, err := ParseSLO("p99=100ms, frames >= 29.5")
	if err != nil || slo.Frames != 29.5 || !slo.Bounded() || slo.String() != "p99=100ms,errors=0.1%,frames>=29.5" {
		t.Errorf("%v, %v", slo, err)
	}
	again, err := ParseSLO("frames>=2")
	if err != nil || !again.Bounded() {
		t.Errorf("%v, %v", again, err)
	}
	text, err := json.Marshal(slo)
	var back SLO
	if err = errors.Join(err, json.Unmarshal(text, &back)); err != nil || back.Frames != 29.5 {
		t.Errorf("%s: %+v, %v", text, back, err)
	}
	for _, wrong := range []string{"frames>=x", "frames>=0", "frames>=Inf", "frames=3", "frames<3"} {
		if slo, err := ParseSLO(wrong); err == nil && slo.Frames != 0 || err == nil && wrong != "frames<3" {
			t.Errorf("%s was accepted: %+v", wrong, slo)
		}
	}
}

func TestSessionsOf(t *testing.T) {
	opening, gaps := NewHistogram(), NewHistogram()
	opening.RecordValues(2e6, 3)
	gaps.RecordValues(33_333_333, 3)
	gaps.RecordValue(histHighest) // one that did not open
	s := SessionsOf(opening, gaps, 1, 360, 4000, 4)
	if s.Planned != 4 || s.Opened != 3 || s.Lost != 1 || s.FramesMean != 22.5 || s.BytesPerS != 250 || s.FramesMin != 0 || s.FramesP1 != 0 || s.lostShare() != 0.5 {
		t.Errorf("%+v", s)
	}
	if SessionsOf(nil, nil, 0, 0, 0, 1) != nil || (*Sessions)(nil).lostShare() != 0 {
		t.Error("there are no sessions")
	}
}
