package probe

import (
	"math"
	"testing"
	"time"

	"dyno/agent"
	"dyno/lab/probe/procfs"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
)

// fakeWatcher returns a Watcher with readings at 101 boundaries. The target steadily uses 0.8 cores
// and waits 0.1 s/s for a CPU. Of the machine, dependencies use 0.2 cores, the lab 0.3, others 0.4
// (0.1 of it steal).
func fakeWatcher(target, withAgent bool) *Watcher {
	w := &Watcher{changed: make(chan struct{}), sees: usage.Seen{Target: target, Machine: true, PressureCPU: true, PressureIO: true}}
	for k := int64(1000); k <= 1100; k++ {
		s := float64(k*window) / 1e9
		r := reading{usage.Reading{At: k * window, Dependencies: 0.2 * s, Self: 0.3 * s, Busy: 1.6 * s, Steal: 0.1 * s, Pressure: 0.05 * s, PressureIO: 0.02 * s, Overflows: 3 * s}}
		if target {
			r.CPU, r.System, r.Delay, r.RSS = 0.8*s, 0.25*s, 0.1*s, 1<<20
			r.Halts = usage.Halts{Waits: 900 * s, Preemptions: 40 * s, Blocked: 0.03 * s}
			r.Accept, r.Cache, r.TLB = procfs.Queue{Inode: 1, Length: 2, Limit: 128}, 1e6*s, 2e5*s
			if k == 1050 {
				r.RSS, r.Accept = 5<<20, procfs.Queue{Inode: 2, Length: 77, Limit: 4096}
			}
		}
		w.proc.add(r)
		if withAgent {
			w.samples.add(sample{Sample: agent.Sample{At: k*window + 400_000, CPU: 0.8 * s, SystemCPU: 0.3 * s, Delay: 0.15 * s, MutexWait: 2 * s, Allocs: uint64(k * 100), AllocBytes: uint64(k * 6400),
				GCCPU: 0.2 * s, Goroutines: k, GCPauseMax: 0.002, Gauges: map[string]float64{"depth": float64(k)}, Profiling: k == 1020}})
		}
	}
	return w
}

func TestServer(t *testing.T) {
	tests := []struct {
		name              string
		target, withAgent bool
		want              record.Server
	}{
		{"process and agent", true, true, record.Server{CPU: 0.8, Delay: 0.1, RSS: 1 << 20, Goroutines: 1011, Allocs: 1000, AllocBytes: 64000, GCCPU: 0.2, MutexWait: 2, AgentSeen: true}},
		{"process alone", true, false, record.Server{CPU: 0.8, Delay: 0.1, RSS: 1 << 20}},
		{"agent alone", false, true, record.Server{CPU: 0.8, Delay: 0.15, Goroutines: 1011, Allocs: 1000, AllocBytes: 64000, GCCPU: 0.2, MutexWait: 2, AgentSeen: true}},
	}
	for _, tt := range tests {
		got := fakeWatcher(tt.target, tt.withAgent).Server(1010*window, 0)
		if got == nil {
			t.Errorf("%s: nothing", tt.name)
			continue
		}
		g, w := append(flat(*got), float64(got.RSS)), append(flat(tt.want), float64(tt.want.RSS))
		for i := range g {
			if math.Abs(g[i]-w[i]) > 1e-6 {
				t.Errorf("%s: %+v, want %+v", tt.name, *got, tt.want)
				break
			}
		}
		if tt.withAgent && got.Gauges["depth"] != 1011 {
			t.Errorf("%s: gauges %v", tt.name, got.Gauges)
		}
	}
	if got := fakeWatcher(false, false).Server(1010*window, 0); got != nil {
		t.Errorf("nothing to see gave %+v", got)
	}
	w := fakeWatcher(true, true)
	if got := w.Server(2000*window, 0); got != nil {
		t.Errorf("the future is %+v", got)
	}
	for k, want := range map[int64]bool{1018: false, 1019: true, 1020: false} {
		if got := w.Server(k*window, 0); got.Profiling != want {
			t.Errorf("window %d: profile live %v, want %v", k, got.Profiling, want)
		}
	}
}

// Server waits for the window's end, and for the agent only while its stream is open.
func TestServerWaits(t *testing.T) {
	w := fakeWatcher(true, true)
	w.streaming = true
	const k = 1100 // the reading at its end is missing
	got := make(chan *record.Server)
	go func() { got <- w.Server(k*window, time.Hour) }()
	w.update(func() {
		w.proc.add(reading{usage.Reading{At: (k + 1) * window, CPU: float64((k+1)*window) / 1e9 * 0.8}})
	})
	w.update(func() { w.samples.add(sample{Sample: agent.Sample{At: (k + 1) * window, Allocs: (k + 1) * 100}}) })
	if s := <-got; s == nil || !s.AgentSeen || math.Abs(s.CPU-0.8) > 1e-6 {
		t.Errorf("waited for %+v", s)
	}
	go func() { got <- w.Server((k+1)*window, time.Hour) }()
	w.update(func() {
		w.proc.add(reading{usage.Reading{At: (k + 2) * window, CPU: float64((k+2)*window) / 1e9 * 0.8}})
	})
	w.update(func() { w.streaming = false })
	if s := <-got; s == nil || s.AgentSeen {
		t.Errorf("after the stream broke off: %+v", s)
	}
}

func TestServerGivesUpWaiting(t *testing.T) {
	w := fakeWatcher(true, true)
	w.streaming = true
	w.update(func() { w.proc.add(reading{usage.Reading{At: 1101 * window, CPU: 1101 * float64(window) / 1e9 * 0.8}}) })
	if s := w.Server(1100*window, time.Millisecond); s == nil || s.AgentSeen {
		t.Errorf("without the agent's half: %+v", s)
	}
	if s := w.Server(1101*window, time.Millisecond); s != nil {
		t.Errorf("without either half: %+v", s)
	}
}

func TestEnvironment(t *testing.T) {
	want := record.System{OthersCPU: 0.4, StealCPU: 0.1, TargetCPU: 0.8, DependencyCPU: 0.2, TargetDelay: 0.1, PressureCPU: 0.05,
		TargetSystem: 0.25, Switches: 900, Preempted: 40, PressureIO: 0.02, BlockedIO: 0.03, ListenOverflows: 3, AcceptQueue: 77, AcceptLimit: 4096,
		CacheMisses: 1e6, TLBMisses: 2e5, Seen: true}
	figures := func(s record.System) []float64 {
		return []float64{s.OthersCPU, s.StealCPU, s.TargetCPU, s.DependencyCPU, s.TargetDelay, s.PressureCPU, s.TargetSystem, s.Switches, s.Preempted,
			s.PressureIO, s.BlockedIO, s.ListenOverflows, float64(s.AcceptQueue), float64(s.AcceptLimit), s.CacheMisses, s.TLBMisses}
	}
	same := func(name string, got, want record.System) {
		t.Helper()
		w := figures(want)
		for i, g := range figures(got) {
			if math.Abs(g-w[i]) > 1e-6*max(1, w[i]) || got.Seen != want.Seen || got.Elsewhere != want.Elsewhere {
				t.Errorf("%s: %+v, want %+v", name, got, want)
				return
			}
		}
	}
	const from, to = 1010 * window, 1090 * window
	same("process", fakeWatcher(true, false).System(from, to), want)

	w := fakeWatcher(false, true)
	agentAlone := record.System{OthersCPU: 0.4, StealCPU: 0.1, TargetCPU: 0.8, DependencyCPU: 0.2, TargetDelay: 0.15, PressureCPU: 0.05,
		TargetSystem: 0.3, PressureIO: 0.02, ListenOverflows: 3, Seen: true}
	same("agent alone", w.System(from, to), agentAlone)
	w.remote = true
	elsewhere := agentAlone
	elsewhere.Elsewhere, elsewhere.OthersCPU = true, 1.2 // the target's 0.8 were not used on this machine
	same("agent on another machine", w.System(from, to), elsewhere)

	w = fakeWatcher(true, true)
	w.remote = true
	same("a process in another time namespace", w.System(from, to), want)

	unseen := record.System{PressureCPU: -1, PressureIO: -1}
	same("unknown target", fakeWatcher(false, false).System(from, to), unseen)
	same("not watched then", fakeWatcher(true, true).System(10, 20), unseen)
	w = fakeWatcher(true, false)
	w.sees.Machine = false
	same("no /proc/stat", w.System(from, to), unseen)
	w = fakeWatcher(true, false)
	w.sees.PressureCPU, w.sees.PressureIO = false, false
	want.PressureCPU, want.PressureIO = -1, -1
	same("no PSI", w.System(from, to), want)
	w = fakeWatcher(true, false)
	w.cpus = 1 // of which the known processes and the hypervisor have more already
	if got := w.System(from, to); got.OthersCPU != 0 {
		t.Errorf("others used %v of one CPU", got.OthersCPU)
	}
	w = fakeWatcher(true, false)
	w.proc = timeline[reading]{}
	w.update(func() { w.proc.add(reading{usage.Reading{At: 1000 * window, CPU: 1, Self: 1, Busy: 1}}) })
	w.update(func() {
		w.proc.add(reading{usage.Reading{At: 1001 * window, CPU: 1.1, System: 0.11, Self: 1.1, Busy: 1.15}})
	}) // the clocks disagree a little
	if got := w.System(1000*window, 1001*window); got.OthersCPU != 0 || got.TargetSystem > got.TargetCPU {
		t.Errorf("others used %v cores, and the kernel %v of the target's %v", got.OthersCPU, got.TargetSystem, got.TargetCPU)
	}
}

func TestTotals(t *testing.T) {
	const from, to, requests = 1010 * window, 1090 * window, 4000 // 8 s at 500 per second
	got := fakeWatcher(true, true).Totals(from, to, requests)
	if got == nil {
		t.Fatal("nothing")
	}
	if math.Abs(got.CPUMicrosPerRequest-1600) > 1e-3 || got.AllocsPerRequest != 2 || got.BytesPerRequest != 128 ||
		got.PeakRSS != 5<<20 || got.PeakGoroutines != 1090 || got.Gauges["depth"] != 1090 || math.Abs(got.GCShare-0.25) > 1e-6 ||
		got.GCPauseP99Ms < 2 || got.GCPauseP99Ms > 2.2 || math.Abs(got.MutexWait-2) > 1e-6 {
		t.Errorf("%+v", *got)
	}
	if p := got.GCPauses; len(p) != 1 || p[0].Count != 80 || p[0].UpToMs != got.GCPauseP99Ms {
		t.Errorf("pauses %+v", p)
	}
	got = fakeWatcher(true, false).Totals(from, to, requests)
	if got == nil || got.AllocsPerRequest != -1 || got.BytesPerRequest != -1 || math.Abs(got.CPUMicrosPerRequest-1600) > 1e-3 {
		t.Errorf("without an agent: %+v", got)
	}
	if got = fakeWatcher(false, true).Totals(from, to, requests); got == nil || math.Abs(got.CPUMicrosPerRequest-1600) > 1e-3 || got.PeakRSS != 0 {
		t.Errorf("with the agent alone: %+v", got)
	}
	if got = fakeWatcher(true, true).Totals(from, to, 0); got == nil || got.CPUMicrosPerRequest != 0 || got.AllocsPerRequest != 0 {
		t.Errorf("without requests: %+v", got)
	}
	if got = fakeWatcher(false, false).Totals(from, to, requests); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}
