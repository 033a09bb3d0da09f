package calibration

import (
	"time"

	"dyno/lab/diagnose"
	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// figures are the measurements of a simulated server under 32 clients on two cores.
type figures struct {
	cpu  float64 // cores used
	lock float64 // goroutines that wait for a mutex
	gc   float64 // share of the CPU profile
}

// made is a case of such a server.
func made(server string, truth rules.Bottleneck, f figures) Case {
	const clients, perSecond = 32, 1000
	run := func(role string) *record.Run {
		r := &record.Run{Spec: record.RunSpec{Role: role, Variant: server, Connections: clients, Closed: true}, Length: time.Second,
			Machine: record.Machine{Cores: 2}, Load: record.LoadInfo{Model: "closed", Connections: clients},
			Target: record.Target{Agent: true, Pprof: true, Procs: 2, PID: 1},
			System: record.System{Seen: true, TargetCPU: f.cpu}}
		r.Totals.ThroughputPerS, r.Totals.Service.Mean = perSecond, 1000*clients/perSecond
		r.Totals.Server = &record.ServerTotals{MutexWait: f.lock}
		return r
	}
	sample := func(value float64, functions ...string) record.Stack {
		s := record.Stack{Value: value}
		for _, name := range functions {
			s.Frames = append(s.Frames, record.Frame{Function: name, File: "/src/app/main.go", Line: 7})
		}
		return s
	}
	profiled := run(record.RoleProfile)
	profiled.FixtureProfiles = []*record.Profile{{Type: record.ValueCPU, Seconds: 2, Stacks: []record.Stack{
		sample(1-f.gc, "main.(*shop).price.func1", "main.(*shop).price"), sample(f.gc, "runtime.scanobject", "runtime.gcBgMarkWorker")}}}
	profiled.FixtureTrace = &record.Trace{Seconds: 0.5, Procs: 2, Running: 0.5 * f.cpu}
	return Case{Server: server, Family: server, Truth: []rules.Bottleneck{truth}, Inside: "agent",
		Subject: diagnose.NewSubject(server, []*record.Run{run(record.RoleSaturate), profiled})}
}

// computing and collecting use all of the CPU, locked waits for a mutex.
func computing(server string, gc float64) Case {
	return made(server, rules.CPU, figures{cpu: 2, gc: gc})
}

func collecting(server string, gc float64) Case {
	return made(server, rules.GC, figures{cpu: 2, gc: gc})
}

func locked(server string, waiting float64) Case {
	return made(server, rules.Lock, figures{cpu: 1, lock: waiting})
}
