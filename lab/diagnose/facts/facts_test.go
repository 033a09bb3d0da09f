package facts

import (
	"math"
	"testing"
	"time"

	"dyno/lab/record"
)

func TestAvailable(t *testing.T) {
	run := func(change func(*record.Run)) *record.Run {
		r := &record.Run{Machine: record.Machine{Cores: 8}, Length: 2 * time.Second}
		r.Totals.Generator.CPUSeconds = 2 // one core
		r.System.DependencyCPU, r.System.OthersCPU = 0.5, 0.5
		if change != nil {
			change(r)
		}
		return r
	}
	for _, c := range []struct {
		name  string
		r     *record.Run
		procs int
		want  float64
	}{
		{"what the lab and others leave", run(nil), 0, 6},
		{"its GOMAXPROCS", run(nil), 4, 4},
		{"its own quota", run(func(r *record.Run) { r.Target.Quota = 3 }), 0, 3},
		{"a quota that the lab draws on", run(func(r *record.Run) { r.Target.Quota, r.Target.Shared = 3, true }), 0, 1},
		{"another machine's", run(func(r *record.Run) { r.System.Elsewhere = true }), 16, 16},
		{"a turn at least", run(func(r *record.Run) { r.System.OthersCPU = 9 }), 0, 0.25},
	} {
		if got := Available(c.r, c.procs); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPerSecondCountsGoodAnswers(t *testing.T) {
	r := &record.Run{}
	r.Totals = record.Totals{ThroughputPerS: 1000, Ended: 500, Completed: 500, Failed: 400, DeliveredPerS: 7}
	if got := PerSecond(r); got != 200 {
		t.Errorf("%v", got)
	}
	if got := Failing(r); got != 0.8 {
		t.Errorf("%v", got)
	}
	r.SLO.On = record.OnDelivery
	if got := PerSecond(r); got != 7 {
		t.Errorf("%v", got)
	}
}

func TestInFlight(t *testing.T) {
	open := &record.Run{Series: []record.Window{
		{Phase: record.PhaseWarmup, Client: record.Client{Backlog: 99}},
		{Phase: record.PhaseProfile, Client: record.Client{Backlog: 10}},
		{Phase: record.PhaseProfile, Client: record.Client{Backlog: 20}}}}
	if got := InFlight(open); got != 15 {
		t.Errorf("by its backlog: %v", got)
	}
	open.Totals.ThroughputPerS, open.Totals.Service.Mean = 1000, 5
	if got := InFlight(open); got != 5 {
		t.Errorf("by Little's law: %v", got)
	}
	closed := &record.Run{Load: record.LoadInfo{Model: "closed"}, Spec: record.RunSpec{Connections: 32}}
	if got := InFlight(closed); got != 32 {
		t.Errorf("its clients: %v", got)
	}
	closed.Load.Kind, closed.Totals = record.KindSessions, open.Totals
	if got := InFlight(closed); got != 5 {
		t.Errorf("of sessions, which pause: %v", got)
	}
}
