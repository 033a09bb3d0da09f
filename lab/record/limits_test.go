package record

import (
	"math"
	"testing"
)

func TestLimits(t *testing.T) {
	window := func(phase string, server, cpu float64) Window {
		return Window{Phase: phase, Server: &Server{Gauges: map[string]float64{"bound_server": server, "bound_cpu": cpu, "depth": 9}}}
	}
	r := &Run{Series: []Window{window("warmup", 0, 1), window("measure", 0.9, 0.1), window("measure", 0.7, 7), {Phase: "measure"}}}
	got := WaitsOf(r)
	if len(got) != 2 || got[0].Name != "server" || math.Abs(got[0].Share-0.8) > 1e-9 || math.Abs(got[1].Share-0.55) > 1e-9 {
		t.Errorf("%v", got)
	}
}
