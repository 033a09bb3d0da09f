package waits

import (
	"math"
	"testing"

	"dyno/lab/record"
)

func TestLimits(t *testing.T) {
	window := func(phase string, server, cpu float64) record.Window {
		return record.Window{Phase: phase, Server: &record.Server{Gauges: map[string]float64{"bound_server": server, "bound_cpu": cpu, "depth": 9}}}
	}
	r := &record.Run{Series: []record.Window{window("warmup", 0, 1), window("measure", 0.9, 0.1), window("measure", 0.7, 7), {Phase: "measure"}}}
	got := Of(r)
	if len(got) != 2 || got[0].Name != "server" || math.Abs(got[0].Share-0.8) > 1e-9 || math.Abs(got[1].Share-0.55) > 1e-9 {
		t.Errorf("%v", got)
	}
}
