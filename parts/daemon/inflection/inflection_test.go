package inflection

import (
	"math"
	"strings"
	"testing"
)

func TestDetector(t *testing.T) {
	good := Reading{Rate: 1000, P99: 0.010, Pauses: 0.0002}
	idle := Reading{P99: math.NaN()}
	for _, tt := range []struct {
		name   string
		before Reading
		n      int // readings before
		after  Reading
		found  bool
	}{
		{"tips over", good, 20, Reading{550, 0.040, 0.002}, true},
		{"just", good, 20, Reading{599, 0.0301, 0.001}, true},
		{"pauses that explain nothing", good, 20, Reading{550, 0.040, 0.0009}, false},
		{"clients leave", Reading{100, 0.010, 0}, 20, Reading{1, 0.031, 0.002}, false},
		{"long enough", good, enough, Reading{550, 0.040, 0.002}, true},
		{"too soon to say", good, enough - 1, Reading{550, 0.040, 0.002}, false},
		{"fewer requests come in", good, 20, Reading{500, 0.009, 0.0001}, false},
		{"a dependency is slow", good, 20, Reading{500, 0.200, 0.0001}, false},
		{"slower, and as many", good, 20, Reading{950, 0.200, 0.002}, false},
		{"fewer, and not three times as slow", good, 20, Reading{550, 0.029, 0.002}, false},
		{"more of all", good, 20, Reading{2000, 0.040, 0.002}, false},
		{"a handful of requests", Reading{5, 0.010, 0.0002}, 20, Reading{2, 0.050, 0.002}, false},
		{"no requests any more", good, 20, idle, false},
		{"no requests before", idle, 20, Reading{550, 0.040, 0.002}, false},
	} {
		var d Detector
		for range tt.n {
			if _, yes := d.Add(tt.before); yes {
				t.Fatalf("%s: found before anything changed", tt.name)
			}
		}
		found, yes := Inflection{}, false
		for range now {
			found, yes = d.Add(tt.after)
		}
		if yes != tt.found {
			t.Errorf("%s: found %v, want %v: %v", tt.name, yes, tt.found, found)
		}
	}
}

// One reading of a minute is no inflection, and the detector keeps a minute, however long it runs.
func TestDetectorIsBounded(t *testing.T) {
	var d Detector
	for i := range 10_000 {
		r := Reading{Rate: 1000, P99: 0.010, Pauses: 0.0002}
		if i%(now+normal) == 0 {
			r = Reading{Rate: 500, P99: 0.020, Pauses: 0.001}
		}
		if found, yes := d.Add(r); yes {
			t.Fatalf("reading %d: %v", i, found)
		}
	}
	if len(d.readings) > now+normal {
		t.Errorf("%d readings are kept", len(d.readings))
	}
}

func TestInflectionSays(t *testing.T) {
	i := Inflection{Before: Reading{1000, 0.010, 0.0002}, Now: Reading{550, 0.040, 0.002}}
	for _, want := range []string{"1000 requests/s fell to 550/s", "from 10ms to 40ms", "for 2ms of each second, before for 200µs"} {
		if !strings.Contains(i.String(), want) {
			t.Errorf("%q does not say %q", i, want)
		}
	}
}
