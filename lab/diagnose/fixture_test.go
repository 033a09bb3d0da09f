package diagnose

import (
	"time"

	"dyno/lab/record"
)

// saturated makes a run of a closed loop.
func saturated(clients int, perSecond float64) *record.Run {
	r := &record.Run{Spec: record.RunSpec{Role: record.RoleSaturate, Variant: "v", Connections: clients, Closed: true},
		Length: time.Second, Machine: record.Machine{Cores: 2}}
	r.Load = record.LoadInfo{Model: "closed", Connections: clients}
	r.Totals.ThroughputPerS = perSecond
	r.Totals.Ended, r.Totals.Completed = int64(perSecond), int64(perSecond)
	r.Totals.Service.Mean = 1000 * float64(clients) / perSecond
	r.Target = record.Target{Pprof: true, Agent: true, Procs: 2, PID: 1}
	r.System = record.System{Seen: true, TargetCPU: 0.5, PressureCPU: -1}
	r.Totals.Server = &record.ServerTotals{}
	return r
}

// as gives a run another role.
func as(r *record.Run, role string, change *record.Change, round int) *record.Run {
	r.Spec.Role, r.Spec.Change, r.Spec.Round = role, change, round
	return r
}

// stack makes a call stack, the leaf first.
func stack(value float64, functions ...string) record.Stack {
	s := record.Stack{Value: value}
	for _, f := range functions {
		s.Frames = append(s.Frames, record.Frame{Function: f, File: "/src/app/main.go", Line: 7})
	}
	return s
}

// profiled makes a run under profiles.
func profiled(clients int, perSecond float64, cpu []record.Stack, waits ...record.Wait) *record.Run {
	r := as(saturated(clients, perSecond), record.RoleProfile, nil, 0)
	r.FixtureProfiles = []*record.Profile{{Type: record.ValueCPU, Seconds: 2, Requests: 2 * perSecond, Stacks: cpu}}
	r.FixtureTrace = &record.Trace{Seconds: 0.5, Procs: 2, Running: 0.1, Waits: waits,
		Groups: []record.Group{{Entry: record.Frame{Function: "net/http.(*conn).serve"}, Goroutines: clients}}}
	return r
}

var handler = []string{"net/http.HandlerFunc.ServeHTTP", "net/http.serverHandler.ServeHTTP", "net/http.(*conn).serve"}

// wait makes a wait in which this number of requests' goroutines spend all of the trace's time.
func wait(reason string, goroutines float64, functions ...string) record.Wait {
	return record.Wait{Reason: reason, Stack: stack(0, append(functions, handler...)...).Frames, Seconds: goroutines * 0.5,
		Count: 100, Goroutines: int(goroutines)}
}
