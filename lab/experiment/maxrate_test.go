package experiment

import (
	"strings"
	"testing"
	"time"

	"dyno/lab/load"
)

func TestMaxRateBoundsEveryLoad(t *testing.T) {
	ramp := func() load.Schedule { return load.Ramp(10, 200, 10*time.Second) }
	for _, tt := range []struct {
		name      string
		schedule  func() load.Schedule
		perSecond float64
		most      float64
		want      string // part of the error
	}{
		{"no bound", nil, 0, 0, ""},
		{"closed", nil, 0, 100, "give a rate"},
		{"steady below", func() load.Schedule { return load.Poisson(100, time.Second, 1) }, 100, 100, ""},
		{"steady above", func() load.Schedule { return load.Constant(150, 2*time.Second) }, 150, 100, "more than max_rate"},
		{"ramp below", ramp, 0, 210, ""},
		{"ramp above", ramp, 0, 100, "more than max_rate"},
	} {
		err := withinMaxRate(&load.Plan{Schedule: tt.schedule}, tt.perSecond, tt.most)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
