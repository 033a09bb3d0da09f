package findings

import (
	"testing"

	"dyno/lab/record"
)

// waited is a job that reported in each window what it waited for.
func waited(gauges map[string]float64) func(*testing.T) Subject {
	return func(*testing.T) Subject {
		r := &record.Run{Spec: record.RunSpec{Role: record.RoleSaturate, Connections: 32}, Load: record.LoadInfo{Kind: record.KindJobs, Model: "closed"}}
		for range 5 {
			r.Series = append(r.Series, record.Window{Phase: record.PhaseMeasure, Server: &record.Server{Gauges: gauges}})
		}
		return Subject{Saturated: []*record.Run{{}, r}}
	}
}

func TestLimits(t *testing.T) {
	check(t, []expectation{
		{name: "a server's budget", kind: KindLimit, fires: true, subject: waited(map[string]float64{"bound_server": 0.9, "bound_cpu": 0.05}),
			evidence: map[string]float64{"bound_server": 0.9}, words: []string{"the server's budget or its answers", "90%", "its own CPU"}},
		{name: "of its own", kind: KindLimit, fires: true, subject: waited(map[string]float64{"bound_tape": 0.6}), words: []string{"tape"}},
		{name: "nothing for long", kind: KindLimit, subject: waited(map[string]float64{"bound_server": 0.4, "bound_disk": 0.3})},
		{name: "nothing said", kind: KindLimit, subject: waited(map[string]float64{"depth": 1})},
	})
}
