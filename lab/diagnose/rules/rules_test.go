package rules

import (
	"maps"
	"slices"
	"testing"
)

// The signals are of measured services; each case changes few of them.
func TestJudge(t *testing.T) {
	idle := Signals{Utilisation: 0.3, Occupied: 1, GeneratorBusy: 0.1, Growth: 0, Capped: 0}
	busy := Signals{Utilisation: 0.95, Allocating: 0.1, WaitTop: 0.1, Occupied: 1, GeneratorBusy: 0.1, Growth: 0.02, Capped: 0}
	for _, c := range []struct {
		name string
		base Signals
		with Signals
		want Bottleneck
		kind string
		also []Bottleneck
	}{
		{"computing", busy, Signals{Allocating: 0.1, Kernel: 0.2}, CPU, "", nil},
		{"collecting", busy, Signals{Allocating: 0.5}, GC, "", nil},
		{"collecting by the runtime's account does not suffice", busy, Signals{GCShare: 0.5}, CPU, "", nil},
		{"marking a large heap", busy, Signals{Allocating: 0.3, Collecting: 0.28}, GC, "", nil},
		{"in the kernel", busy, Signals{Kernel: 0.6}, Syscall, "", nil},
		{"collecting, and in the kernel", busy, Signals{Allocating: 0.45, Kernel: 0.42}, GC, "", []Bottleneck{Syscall}},
		{"spinning", busy, Signals{LockSpin: 0.4}, Lock, "spin", nil},
		{"one at a time inside a lock", idle, Signals{LockWait: 0.9, WaitTop: 0.01}, Lock, "", nil},
		{"a lock that all of the CPU is spent under", busy, Signals{LockWait: 0.7}, Lock, "", nil},
		{"waiting", idle, Signals{WaitTop: 0.9, LockWait: 0}, Wait, "", nil},
		{"one consumer", busy, Signals{WaitTop: 0.9, SerialBusy: 0.99}, Wait, "", nil},
		{"workers that wait", idle, Signals{WorkersWait: 0.8}, Wait, "", nil},
		{"accepting slowly", idle, Signals{AcceptQueue: 0.8, Occupied: 0.4}, Wait, "accept", nil},
		{"clients that think", idle, Signals{Occupied: 0.2, WaitTop: 0.9}, NotLoaded, "", nil},
		{"a client limit", idle, Signals{Capped: 1, Growth: 0.9, WaitTop: 0.9}, NotLoaded, "", nil},
		{"a limit of one client", Signals{Utilisation: 0.4, Occupied: 1, Capped: 1, Clients: 1}, Signals{WaitTop: 0.9}, NotLoaded, "", nil},
		{"a wait without end to what it carries", idle, Signals{Growth: 0.9, WaitTop: 0.9}, Wait, "", nil},
		{"a generator that reads slowly", idle, Signals{WaitTop: 0.95, OnClient: 0.9}, Generator, "", nil},
		{"waiting while the kernel works", busy, Signals{Kernel: 0.9, WaitTop: 0.8, Running: 0.01}, Wait, "", []Bottleneck{Syscall}},
		{"a busy generator", busy, Signals{GeneratorBusy: 0.95}, Generator, "", nil},
		{"a late generator beside an idle service", idle, Signals{GeneratorLag: 0.5}, Generator, "", nil},
		{"a late generator beside a busy service", busy, Signals{GeneratorLag: 0.5}, CPU, "", nil},
		{"computing beside neighbours", busy, Signals{Neighbours: 0.5, Delayed: 0.8}, CPU, "", nil},
		{"one consumer, beside neighbours for which requests queue", busy, Signals{WaitTop: 0.45, Unqueued: 0.9, SerialBusy: 0.85}, Wait, "", nil},
		{"computing beside neighbours for which requests queue", busy, Signals{WaitTop: 0.1, Unqueued: 0.6, SerialBusy: 0.2}, CPU, "", nil},
		{"nothing but neighbours", idle, Signals{Neighbours: 0.5, Delayed: 0.8}, Environment, "", nil},
		{"busy while requests wait for one another", busy, Signals{WaitTop: 0.97, Running: 0.5}, Wait, "", nil},
		{"busy while requests wait for workers that compute", busy, Signals{WaitTop: 0.97, Running: 0.95}, CPU, "", []Bottleneck{Wait}},
		{"collecting while requests wait for what was not seen to run", busy, Signals{Allocating: 0.5, WaitTop: 0.8}, Wait, "", []Bottleneck{GC}},
		{"collecting while requests wait for workers that compute", busy, Signals{Allocating: 0.5, WaitTop: 0.8, Running: 0.9}, GC, "", []Bottleneck{Wait}},
		{"busy, and whether requests wait was not seen", Signals{Utilisation: 0.95, Allocating: 0.1, Occupied: 1}, nil, Unknown, "", nil},
		{"busy goroutines that serve no requests", Signals{Utilisation: 0.95, Allocating: 0.1, Occupied: 1, Running: 0.95}, nil, CPU, "", nil},
		{"other processes that do not delay it", busy, Signals{Neighbours: 0.5, Delayed: 0}, CPU, "", nil},
		{"one thread that computes", idle, Signals{OneThread: 1, Starved: 0.37, Growth: -0.02, Calling: 0}, CPU, "thread", nil},
		{"short of CPU, threads that wait for downstream", busy, Signals{OneThread: 1, Starved: 0.64, Calling: 0.53, Awake: 1.02, Growth: 0}, Wait, "network", nil},
		{"one thread that computes, and calls", busy, Signals{OneThread: 1, Starved: 0.05, Calling: 0.53, Awake: 1.02, Growth: 0}, CPU, "thread", []Bottleneck{Wait}},
		{"short of CPU, threads that sleep", busy, Signals{OneThread: 1, Starved: 0.51, Calling: 0, Awake: 2.33, Growth: 0.82}, Environment, "", nil},
		{"nothing passes its bar", idle, Signals{WaitTop: 0.3}, Unknown, "", nil},
		{"busy with what was not seen", Signals{Utilisation: 0.95, Occupied: 1}, nil, Unknown, "", nil},
		{"nothing was seen", Signals{}, nil, Unknown, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := maps.Clone(c.base)
			maps.Copy(s, c.with)
			bound, rule, also := Defaults.Decide(s)
			kind := ""
			if rule != nil {
				kind = rule.Kind
			}
			if bound != c.want || kind != c.kind || !slices.Equal(also, append([]Bottleneck{}, c.also...)) {
				t.Errorf("%s %q also %v, want %s %q also %v", bound, kind, also, c.want, c.kind, c.also)
			}
		})
	}
}

// Without a refuted verdict the next rule decides, and the signals of that verdict no more count.
func TestDecideWithoutWhatIsRefuted(t *testing.T) {
	busy := Signals{Utilisation: 0.95, Allocating: 0.1, WaitTop: 0.8, LockWait: 0.6, Running: 0.3, Occupied: 1, GeneratorBusy: 0.1}
	var refuted []*Rule
	for _, want := range []Bottleneck{Lock, Wait, CPU, Unknown} {
		bound, rule, also := Defaults.Decide(busy, refuted...)
		if bound != want || (rule == nil) != (want == Unknown) {
			t.Fatalf("%s after %d, want %s", bound, len(refuted), want)
		}
		for _, r := range refuted {
			if slices.Contains(also, r.Bottleneck) {
				t.Errorf("%s, also %v", bound, also)
			}
		}
		refuted = append(refuted, rule)
	}
	if busy[LockWait] != 0.6 {
		t.Error("the signals were changed")
	}
}

// Every threshold is used, and every threshold used has a value and its source.
func TestThresholds(t *testing.T) {
	used := map[string]bool{ThresholdFewerProcs: true, ThresholdLessGC: true} // of predictions
	for _, r := range All {
		for _, c := range r.When {
			if !c.Missing {
				used[c.Threshold] = true
			}
		}
	}
	delete(used, Always)
	for name := range used {
		if th, ok := Defaults[name]; !ok || th.Value <= 0 || th.SetBy == "" {
			t.Errorf("threshold %s: %+v", name, th)
		}
	}
	for name := range Defaults {
		if !used[name] {
			t.Errorf("no rule uses the threshold %s", name)
		}
	}
}
