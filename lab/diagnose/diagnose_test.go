package diagnose

import (
	"slices"
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

func sweep(rates ...float64) []*record.Run {
	var out []*record.Run
	for i, x := range rates {
		out = append(out, saturated([]int{1, 8, 32, 128, 512}[i], x))
	}
	return out
}

// locked returns runs of a service that works under a mutex: one core is busy, and 30 of 32
// requests wait.
func locked() []*record.Run {
	runs := sweep(950, 1000, 1000)
	for _, r := range runs {
		r.System.TargetCPU = 1
	}
	runs[2].Totals.Server.MutexWait = 30
	return append(runs, profiled(32, 1000,
		[]record.Stack{stack(1.8e9, "crypto/sha256.block", "main.quote", handler[0], handler[1], handler[2])},
		wait("sync", 30, "sync.(*Mutex).Lock", "main.quote")))
}

func TestDiagnoseALock(t *testing.T) {
	runs := locked()
	d := NewSubject("v", runs).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Lock || !d.Valid || d.PeakPerS != 1000 {
		t.Fatalf("%+v", d)
	}
	for _, part := range []string{"A lock bounds it", "99% of the requests wait", "its holder does the work", "main.quote (main.go:7)"} {
		if !strings.Contains(d.Text, part) {
			t.Errorf("%q does not say %q", d.Text, part)
		}
	}
	if len(d.Sites) != 1 || d.Sites[0].Function != "main.quote" || d.Sites[0].Share < 0.99 {
		t.Errorf("%+v", d.Sites)
	}
	for _, e := range d.Evidence {
		if e.Means == "" || e.Unit == "" {
			t.Errorf("%+v", e)
		}
	}
}

// A failed prediction overturns the verdict, and the text names the experiment.
func TestAnInterventionOverturns(t *testing.T) {
	fewer := &record.Change{Procs: 1}
	held := append(locked(), as(saturated(32, 990), record.RoleIntervene, fewer, 0), as(saturated(32, 1010), record.RoleSaturate, nil, again))
	d := NewSubject("v", held).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Lock || len(d.Interventions) != 1 || !d.Interventions[0].Held || !strings.Contains(d.Interventions[0].Saw, "0.99x") {
		t.Errorf("%s %+v", d.Bottleneck, d.Interventions)
	}
	failed := append(locked(), as(saturated(32, 400), record.RoleIntervene, fewer, 0), as(saturated(32, 1000), record.RoleSaturate, nil, again))
	d = NewSubject("v", failed).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Unknown || len(d.Also) != 1 || d.Also[0] != rules.Lock || !strings.Contains(d.Text, "GOMAXPROCS=1") || !strings.Contains(d.Text, "0.40x") {
		t.Errorf("%s also %v: %s", d.Bottleneck, d.Also, d.Text)
	}
}

// An intervention that tested another verdict does not affect this one.
func TestAnInterventionOfAnotherVerdict(t *testing.T) {
	runs := append(locked(), as(saturated(32, 400), record.RoleIntervene, &record.Change{GOGC: 800}, 0), as(saturated(32, 1000), record.RoleSaturate, nil, again))
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Bottleneck != rules.Lock || len(d.Interventions) != 0 {
		t.Errorf("%s %+v", d.Bottleneck, d.Interventions)
	}
}

func TestDiagnoseAWait(t *testing.T) {
	runs := sweep(100, 200, 200)
	runs = append(runs, profiled(32, 200, nil, wait("select", 31, "database/sql.(*DB).conn", "database/sql.(*DB).QueryContext", "main.lookup")))
	d := NewSubject("v", runs).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Wait || d.Kind != "pool" || d.Sites[0].Function != "main.lookup" || !strings.Contains(d.Text, "free connection or slot of a pool") {
		t.Errorf("%s %s %+v: %s", d.Bottleneck, d.Kind, d.Sites, d.Text)
	}
}

// Requests wait for one goroutine, which waits for the disk once for each of them.
func TestDiagnoseAWaitThatIsNotShared(t *testing.T) {
	propose := wait("select", 31, "runtime.selectgo", "main.propose")
	propose.WokenBy, propose.Wakers = stack(0, "main.answer", "main.drive").Frames, 1
	drive := record.Wait{Reason: "system call", Stack: stack(0, "syscall.Fsync", "os.(*File).Sync", "main.sync", "main.drive").Frames, Seconds: 0.4, Goroutines: 1}
	for count, unshared := range map[int64]bool{100: true, 20: false} {
		drive.Count = count
		d := NewSubject("v", append(sweep(100, 200, 200), profiled(32, 200, nil, propose, drive))).Diagnose(rules.Defaults)
		if !strings.Contains(d.Text, "main.drive (main.go:7) answers, which itself waits 80% of the time in main.sync (main.go:7)") ||
			strings.Contains(d.Text, "requests do not share that wait") != unshared {
			t.Errorf("%d waits: %s", count, d.Text)
		}
	}
}

// Work that continues after the response: the goroutines that do it wait, and no request does.
func TestDiagnoseWorkersThatWait(t *testing.T) {
	r := profiled(0, 3000, nil)
	r.Load.Model, r.SLO.On = "open", record.OnDelivery
	r.Totals.DeliveredPerS, r.Totals.Delivery.Mean = 2700, 50
	entry := record.Frame{Function: "main.(*sender).work"}
	r.FixtureTrace.Groups = []record.Group{{Entry: entry, Goroutines: 16, Waiting: 7.5}}
	r.FixtureTrace.Waits = []record.Wait{
		{Reason: "select", Entry: entry, Seconds: 7, Stack: stack(0, "runtime.selectgo", "net/http.(*persistConn).roundTrip", "main.(*sender).send", "main.(*sender).work").Frames},
		{Reason: "chan receive", Entry: entry, Seconds: 0.5, Stack: stack(0, "runtime.chanrecv", "main.(*sender).work").Frames},
	}
	d := NewSubject("v", []*record.Run{r}).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Wait || d.Kind != "network" || !strings.Contains(d.Text, "16 goroutines") || !strings.Contains(d.Text, "88%") {
		t.Errorf("%s %s: %s", d.Bottleneck, d.Kind, d.Text)
	}
}

func TestWhatCannotBeSeenIsSaid(t *testing.T) {
	for _, c := range []struct {
		name        string
		agent, ppro bool
		says        string
	}{
		{"only pprof", false, true, "not the agent"},
		{"only the agent", true, false, "profiles.Mount("},
		{"nothing but a process", false, false, "from outside only"},
	} {
		runs := sweep(100, 200, 200)
		for _, r := range runs {
			r.Target.Agent, r.Target.Pprof = c.agent, c.ppro
		}
		d := NewSubject("v", runs).Diagnose(rules.Defaults)
		if len(d.Unseen) == 0 || !strings.Contains(strings.Join(d.Unseen, "; "), c.says) {
			t.Errorf("%s: %q", c.name, d.Unseen)
		}
	}
	if d := NewSubject("v", sweep(100, 200, 200)).Diagnose(rules.Defaults); strings.Contains(strings.Join(d.Unseen, "; "), "profiles.Mount(") {
		t.Errorf("the agent and profiles: %q", d.Unseen)
	}
}

// disturb adds disturbance by other processes to all runs.
func disturb(runs []*record.Run) []*record.Run {
	for _, r := range runs {
		r.System.OthersCPU, r.System.TargetDelay = 1, 0.5
	}
	return runs
}

// tested adds the experiment that the verdict of these runs plans, with its throughput.
func tested(runs []*record.Run, perSecond float64) []*record.Run {
	last := runs[2]
	return append(runs, as(saturated(32, perSecond), record.RoleIntervene, &record.Change{Procs: 1}, 0), as(saturated(32, last.Totals.ThroughputPerS), record.RoleSaturate, nil, again))
}

// If the generator was the limit, the verdict is not valid; if other processes alone are the
// cause, the verdict names them.
func TestNoVerdict(t *testing.T) {
	if d := NewSubject("v", disturb(sweep(100, 200, 200))).Diagnose(rules.Defaults); !d.Valid || d.Bottleneck != rules.Environment || d.Confirmed || d.Disturbed == "" {
		t.Errorf("%+v", d)
	}
	runs := sweep(100, 200, 200)
	runs[2].Totals.Generator.BusiestThread = 0.99
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Valid || d.Bottleneck != rules.Generator || d.Reason == "" {
		t.Errorf("%+v", d)
	}
	late := disturb(sweep(100, 200, 200)) // as any generator is while it queues for a CPU
	late[2].Totals.Lag.P99, late[2].Totals.Response.P99 = 20_000, 40
	if d := NewSubject("v", late).Diagnose(rules.Defaults); d.Bottleneck == rules.Generator {
		t.Errorf("beside neighbours: %s", d.Text)
	}
}

// Other processes do not prevent naming a cause; they make it unconfirmed, unless it explains most
// of the requests' time and an experiment came out as predicted.
func TestNeighboursBesideTheAnswer(t *testing.T) {
	computing := func(cores float64) []*record.Run {
		runs := append(sweep(1000, 1500, 1500), profiled(32, 1500, []record.Stack{stack(1, "main.work", handler[0])}))
		for _, r := range runs {
			r.System.TargetCPU = cores
		}
		return runs
	}
	for _, c := range []struct {
		name      string
		runs      []*record.Run
		bound     rules.Bottleneck
		confirmed bool
	}{
		{"computing", tested(computing(1.9), 800), rules.CPU, true},
		{"computing, untested", computing(1.9), rules.CPU, false},
		{"computing beside neighbours", disturb(tested(computing(0.9), 800)), rules.CPU, false},
		{"a lock beside neighbours", disturb(tested(locked(), 1000)), rules.Lock, true},
	} {
		d := NewSubject("v", c.runs).Diagnose(rules.Defaults)
		if c.confirmed != d.Confirmed || d.Bottleneck != c.bound || !d.Valid {
			t.Errorf("%s: %s, confirmed %t: %s", c.name, d.Bottleneck, d.Confirmed, d.Text)
		}
		if said := strings.Contains(d.Text, "unconfirmed: meanwhile other programs took 50% of the CPUs"); said != (strings.HasPrefix(d.Unconfirmed, "meanwhile")) || c.confirmed != (d.Unconfirmed == "") {
			t.Errorf("%s: %q, %q", c.name, d.Text, d.Unconfirmed)
		}
	}
}

// One goroutine serves all requests, and the target serves no execution trace: the verdict is not
// CPU, however busy it is.
func TestOneGoroutineWithoutATrace(t *testing.T) {
	runs := append(sweep(900, 1000, 1000), profiled(32, 1000, []record.Stack{stack(2e9, "crypto/sha256.block", "main.grind", "main.(*clerk).loop")}))
	for _, r := range runs {
		r.System.TargetCPU, r.Target.Agent, r.Totals.Server = 1.5, false, nil
	}
	profile := runs[3]
	profile.Dir, profile.FixtureTrace = t.TempDir(), nil
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Bottleneck != rules.Unknown || !strings.Contains(d.Text, "served one at a time (") {
		t.Errorf("without goroutines either: %s: %s", d.Bottleneck, d.Text)
	}
	profile.FixtureProfiles = append(profile.FixtureProfiles, &record.Profile{Type: record.ValueGoroutines, Samples: 10, Stacks: []record.Stack{
		stack(310, append([]string{"runtime.gopark", "runtime.chanrecv", "main.push"}, handler...)...),
		stack(10, "crypto/sha256.block", "main.grind", "main.(*clerk).loop")}})
	d := NewSubject("v", runs).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Wait || d.Kind != "channel" || d.Confirmed || !strings.Contains(d.Text, "One goroutine, main.(*clerk).loop,") {
		t.Errorf("%s %s: %s", d.Bottleneck, d.Kind, d.Text)
	}
	var where []string
	for _, p := range d.Sites {
		where = append(where, p.Function)
	}
	if !slices.Equal(where, []string{"main.push", "main.(*clerk).loop", "main.grind"}) {
		t.Errorf("it lies in %q", where)
	}
}

// A service that waits for its downstream is followed to the downstream's bottleneck.
func TestDownstream(t *testing.T) {
	runs := append(sweep(100, 200, 200), profiled(32, 200, nil, wait("network", 31, "internal/poll.(*FD).Read", "main.fetch")))
	runs[3].System.Peers = []record.Peer{{PID: 7, Program: "backend", Address: "127.0.0.1:9000", CPU: 1.2}}
	d := NewSubject("v", runs).Diagnose(rules.Defaults)
	if !strings.Contains(d.Text, "backend (process 7, at 127.0.0.1:9000), which used 1.2 cores meanwhile; --also") {
		t.Errorf("%s: %s", d.Bottleneck, d.Text)
	}
	runs[3].Downstream = &record.Downstream{Target: record.Target{PID: 7, Program: "backend", NotGo: true},
		System: record.System{Seen: true, TargetCPU: 1.9}}
	d = NewSubject("v", runs).Diagnose(rules.Defaults)
	if d.Downstream == nil || !strings.Contains(d.Text, "Of its downstream, backend (process 7), the same run shows: it uses all the CPU available to it") {
		t.Errorf("%+v: %s", d.Downstream, d.Text)
	}
	last := d.Evidence[len(d.Evidence)-1]
	if last.Signal != "downstream_cpu" || last.Value != 1.9 {
		t.Errorf("%+v", last)
	}
}

// A process not built by Go is described as what it is, with its own profiler and no other advice.
func TestAnotherLanguage(t *testing.T) {
	for program, how := range map[string]string{"node": "clinic", "python3.12": "py-spy record -p 1", "java": "async-profiler", "nginx": "perf record -g -p 1"} {
		runs := sweep(1000, 1000, 1000)
		for _, r := range runs {
			r.Target = record.Target{PID: 1, Program: program, NotGo: true}
			r.System.TargetCPU, r.Totals.Server = 1.5, nil
		}
		d := NewSubject("v", append(runs, as(saturated(32, 1000), record.RoleProfile, nil, 0))).Diagnose(rules.Defaults)
		unseen := strings.Join(d.Unseen, "; ")
		for _, said := range []string{d.Text, unseen} {
			if !strings.Contains(said, "he process is "+program+", not a Go program") || !strings.Contains(said, how) {
				t.Errorf("%s: %q", program, said)
			}
		}
		if strings.Contains(unseen, "--debug") || d.Bottleneck != rules.Unknown {
			t.Errorf("%s: %s, %q", program, d.Bottleneck, unseen)
		}
	}
}

func TestDiagnoseVariants(t *testing.T) {
	other := saturated(1, 50)
	other.Spec.Role = record.RoleSearch
	other.Spec.Variant = "unseen"
	e := &record.Experiment{Runs: append(locked(), other), Variants: []record.Variant{{Name: "v"}, {Name: "unseen"}}}
	ds := Diagnose(e)
	if len(ds) != 1 || ds[0].Variant != "v" || ds[0].Bottleneck != rules.Lock {
		t.Errorf("%+v", ds)
	}
}

// A disturbed experiment overturns no verdict.
func TestASpoiltInterventionDecidesNothing(t *testing.T) {
	made := as(saturated(32, 400), record.RoleIntervene, &record.Change{Procs: 1}, 0)
	made.Invalid = "other processes took 40% of the machine"
	d := NewSubject("v", append(locked(), made, as(saturated(32, 1000), record.RoleSaturate, nil, again))).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Lock || len(d.Interventions) != 1 || d.Interventions[0].Held || !strings.Contains(d.Interventions[0].Saw, "the result is inconclusive") {
		t.Errorf("%s %+v", d.Bottleneck, d.Interventions)
	}
}

// Goroutines that are runnable while others keep the processors in fsync wait for the disk as well.
func TestDiagnoseADiskThatKeepsTheProcessors(t *testing.T) {
	runs := append(sweep(1200, 1600, 1700), profiled(32, 1600, nil,
		wait("system call", 6, "syscall.Fsync", "internal/poll.(*FD).Fsync", "os.(*File).Sync", "main.(*journal).write")))
	trace := runs[3].FixtureTrace
	trace.Running, trace.Runnable, trace.Syscall = 0.15, 10, 3
	d := NewSubject("v", runs).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Wait || d.Kind != "disk" || d.Sites[0].Function != "main.(*journal).write" || !strings.Contains(d.Text, "goroutines are runnable") {
		t.Errorf("%s %s %+v: %s", d.Bottleneck, d.Kind, d.Sites, d.Text)
	}
	runs[2].System.TargetCPU = 1.9 // and with the CPU used up, they wait for the CPU
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Bottleneck == rules.Wait {
		t.Errorf("%s: %s", d.Kind, d.Text)
	}
}

// No experiment with GOMAXPROCS is planned if its outcome could not decide.
func TestPredictions(t *testing.T) {
	used := func(cores float64, own ...*record.Run) Subject {
		for _, r := range own {
			r.System.TargetCPU = cores
		}
		return NewSubject("v", own)
	}
	computing := func() []*record.Run {
		return append(sweep(1000, 1500, 1500), profiled(32, 1500, []record.Stack{stack(1, "main.work", handler[0])}))
	}
	disturbed := computing()
	disturbed[2].System.OthersCPU = 0.9
	remote := computing()
	remote[2].Target.Agent = false
	for _, c := range []struct {
		name string
		s    Subject
		want *record.Change
	}{
		{"a lock, one core busy", used(1, locked()...), &record.Change{Procs: 1}},
		{"a lock, and the CPU is nearly used up", used(1.7, locked()...), nil},
		{"computing", used(1.9, computing()...), &record.Change{Procs: 1}},
		{"computing, with a core's worth of neighbours", used(1, disturbed...), nil},
		{"computing, out of reach", used(1.9, remote...), nil},
	} {
		got := predict(rules.Defaults, c.s).change
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// That a service is not loaded says nothing of it if the load ended early.
func TestNotLoadedByALoadThatEnded(t *testing.T) {
	for _, invalid := range []string{"", "corpus used up: its 50000 rows lasted 2.1 s of 2 s"} {
		r := saturated(64, 1300)
		r.Totals.Service.Mean, r.Invalid = 0, invalid
		r.Spec.Capped = true
		d := NewSubject("v", []*record.Run{r}).Diagnose(rules.Defaults)
		if d.Bottleneck != rules.NotLoaded || d.Confirmed != (invalid == "") || !strings.Contains(d.Unconfirmed, invalid) {
			t.Errorf("%q: %s, confirmed %t: %s", invalid, d.Bottleneck, d.Confirmed, d.Text)
		}
	}
}
