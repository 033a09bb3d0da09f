package whatif

import (
	"math"
	"strings"
	"testing"
	"time"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"

	"pgregory.net/rapid"
)

// shared is a service that uses one of two cores; the generator and the dependencies use half of
// one.
var shared = CPU{Target: 1, Others: 0.5, Limit: 2, Machine: 2}

func TestWithout(t *testing.T) {
	json := Removal{CPU: 0.29, CPUOf: "in encoding/json.Marshal"}
	for name, c := range map[string]struct {
		facts    Facts
		removal  Removal
		model    string
		atMost   float64
		alone    float64
		then, in string
	}{
		"the CPU alone": {Facts{Bottleneck: rules.CPU, CPU: CPU{Target: 2, Limit: 2, Machine: 2}}, json,
			Amdahl, 1.408, 0, "the CPU", "at most 1.41x the throughput: 29% of the CPU time of a request is in encoding/json.Marshal; the CPU still bounds it."},
		"sessions": {Facts{Bottleneck: rules.CPU, Sessions: true, CPU: CPU{Target: 2, Limit: 2, Machine: 2}}, json,
			Amdahl, 1.408, 0, "the CPU", "at most 1.41x the sessions: 29% of"},
		"the CPU shared with the generator": {Facts{Bottleneck: rules.CPU, CPU: shared}, json,
			Amdahl, 1.24, 1.408, "the CPU", "at most 1.24x the throughput (1.41x on CPUs of its own)"},
		"then a lock": {Facts{Bottleneck: rules.CPU, CPU: CPU{Target: 2, Limit: 2, Machine: 2}, Others: []Limit{{"the lock in store.go:68", 0.8, 0}}}, json,
			Amdahl, 1.25, 0, "the lock in store.go:68", "; then the lock in store.go:68 bounds it."},
		"a lock further away": {Facts{Bottleneck: rules.CPU, CPU: CPU{Target: 2, Limit: 2, Machine: 2}, Others: []Limit{{"the lock", 0.5, 0}}}, json,
			Amdahl, 1.408, 0, "the CPU", "; the CPU still bounds it, and the lock would at 2.0x."},
		"what the lock's holder computes may be what goes": {Facts{Bottleneck: rules.CPU, CPU: CPU{Target: 2, Limit: 2, Machine: 2}, Others: []Limit{{"the lock", 0.8, 0.8}}}, json,
			Amdahl, 1.408, 0, "the CPU", ""},
		"all of a lock, beside others": {Facts{Bottleneck: rules.Lock, Name: "a lock", Computes: 1, CPU: CPU{Target: 1, Limit: 2, Machine: 2, Taken: 0.4}}, Removal{Waits: []string{"lock"}},
			Holder, 2, 0, "the CPU", "at most 2.0x the throughput; then the CPU bounds it."},
		"all of a lock, whose users are ready for longer than they run": {Facts{Bottleneck: rules.Lock, Name: "a lock", Computes: 1, CPU: CPU{Target: 0.4, Ready: 1, Limit: 2, Machine: 2, Taken: 0.7}}, Removal{Waits: []string{"lock"}},
			Holder, 5, 0, "the CPU", "at most 5.0x the throughput; then the CPU bounds it."},
		"a wait, while others have the CPUs": {Facts{Bottleneck: rules.Wait, Kind: "network", Name: "waiting", UsedUp: true, Computes: 0.5, CPU: CPU{Target: 0.4, Ready: 2.5, Others: 0.1, Limit: 2, Machine: 2, Taken: 0.7}}, Removal{Waits: []string{"network"}},
			Little, 10, 0, "the CPU", ""},
		"half of a lock's holding": {Facts{Bottleneck: rules.Lock, Name: "a lock", CPU: CPU{Target: 0.2, Limit: 2, Machine: 2}}, Removal{Waits: []string{"lock"}, Part: 0.5, PartOf: "in os.(*File).Sync, called at store.go:68"},
			Holder, 2, 0, "a lock", "at most 2.0x the throughput: 50% of the time under the lock is spent in os.(*File).Sync, called at store.go:68; a lock still bounds it."},
		"all of a lock": {Facts{Bottleneck: rules.Lock, Name: "a lock", Computes: 1, CPU: shared}, Removal{Waits: []string{"lock"}},
			Holder, 2, 0, "the CPU", "; then the CPU bounds it."},
		"all of a lock, whose cost in the kernel may go with it": {Facts{Bottleneck: rules.Lock, Name: "a lock", Computes: 0.4, CPU: shared}, Removal{Waits: []string{"lock"}},
			Holder, 5, 0, "the CPU", ""},
		"all of a lock, without a CPU profile": {Facts{Bottleneck: rules.Lock, Name: "a lock", CPU: shared}, Removal{Waits: []string{"lock"}},
			None, 0, 0, "", "which a CPU profile bounds"},
		"computing beside a lock": {Facts{Bottleneck: rules.Lock, Name: "a lock", CPU: CPU{Target: 1, Limit: 2, Machine: 2}}, json,
			Holder, 2.817, 0, "the CPU", "and no more than now unless that is what the requests wait for"},
		"computing beside a wait": {Facts{Bottleneck: rules.Wait, Kind: "network", Name: "waiting for an answer from downstream", CPU: shared}, json,
			Elsewhere, 1, 0, "waiting for an answer from downstream", "at most 1.00x the throughput: 29% of the CPU time of a request is in encoding/json.Marshal, but waiting for an answer from downstream bounds it."},
		"computing beside a wait, with the CPU used up": {Facts{Bottleneck: rules.Wait, Kind: "network", Name: "waiting", UsedUp: true, CPU: shared}, json,
			Amdahl, 1.24, 0, "the CPU", ""},
		"workers that wait": {Facts{Bottleneck: rules.Wait, Kind: "network", Name: "waiting", WorkersWait: 0.8, CPU: CPU{Target: 0.1, Limit: 2, Machine: 2}}, Removal{Waits: []string{"network"}},
			Little, 5, 0, "waiting", ""},
		"computing of workers that wait": {Facts{Bottleneck: rules.Wait, Kind: "network", Name: "waiting", WorkersWait: 0.8, CPU: CPU{Target: 0.1, Limit: 2, Machine: 2}}, json,
			Elsewhere, 1.25, 0, "waiting", ""},
		"a wait beside the CPU": {Facts{Bottleneck: rules.CPU, CPU: shared}, Removal{Waits: []string{"pool"}, Time: 0.12},
			Elsewhere, 1, 0, "the CPU", "since the CPU bounds it; requests would take 12% less time at most."},
		"no bound": {Facts{Bottleneck: rules.Unknown, CPU: shared}, json, None, 0, 0, "", "unknown how much more throughput, since a figure is missing: the bound: what limits the throughput is unknown; 29%"},
		"no bound, with the CPU used up": {Facts{Bottleneck: rules.Unknown, UsedUp: true, CPU: CPU{Target: 0.2, Ready: 1.9, Limit: 2, Machine: 2}}, json,
			Amdahl, 1.408, 14.085, "the CPU", "; the CPU still bounds it."},
		"not loaded":          {Facts{Bottleneck: rules.NotLoaded, CPU: shared}, json, None, 0, 0, "", "the service would carry more load"},
		"only the generator":  {Facts{Bottleneck: rules.Generator, CPU: shared}, json, None, 0, 0, "", "the load generator was the limit"},
		"no limit reached":    {Facts{Bottleneck: rules.Wait, Kind: "timer", Rising: true, CPU: shared}, Removal{Waits: []string{"timer"}}, None, 0, 0, "", "more clients still raised"},
		"CPU use unseen":      {Facts{Bottleneck: rules.Lock}, Removal{Waits: []string{"lock"}}, None, 0, 0, "", "the CPU that the service uses"},
		"a leak has no model": {Facts{Bottleneck: rules.CPU, CPU: shared}, Removal{}.OrMissing(), None, 0, 0, "", "its cost for each request"},
	} {
		e := c.facts.Without(c.removal)
		if e.Model != c.model || math.Abs(e.AtMost-c.atMost) > 0.01 || math.Abs(e.Alone-c.alone) > 0.01 || e.Then != c.then || !strings.Contains(e.Text, c.in) {
			t.Errorf("%s: %+v", name, e)
		}
		if (e.Missing == "") != (c.model != None) || (c.removal.CPU > 0) != (e.CPU == 1-c.removal.CPU) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Removing more never lowers the estimate, and no estimate has a value that JSON cannot represent
// (NaN, Inf).
func TestMoreRemovedBringsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		f := Facts{Bottleneck: rapid.SampledFrom([]rules.Bottleneck{rules.CPU, rules.GC, rules.Lock, rules.Wait}).Draw(t, "bound"), Kind: "network", Name: "it",
			UsedUp: rapid.Bool().Draw(t, "used up"), WorkersWait: share.Draw(t, "workers"),
			CPU:    CPU{Target: rapid.Float64Range(0.001, 64).Draw(t, "target"), Ready: rapid.Float64Range(0, 99).Draw(t, "ready"), Others: rapid.Float64Range(0, 64).Draw(t, "beside"), Limit: math.Inf(1), Machine: 64},
			Others: []Limit{{"another", share.Draw(t, "busy"), share.Draw(t, "computes")}}}
		less := Removal{CPU: share.Draw(t, "less"), Waits: []string{"lock", "network"}, Part: share.Draw(t, "part")}
		more := less
		more.CPU = max(less.CPU, share.Draw(t, "more"))
		a, b := f.Without(less), f.Without(more)
		if a.Missing == "" && b.AtMost < a.AtMost*(1-1e-9) {
			t.Fatalf("%+v brings %v, and %+v %v", less, a.AtMost, more, b.AtMost)
		}
		for _, v := range []float64{a.AtMost, a.Alone, a.CPU} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Fatalf("%+v", a)
			}
		}
	})
}

func TestCPUOf(t *testing.T) {
	r := &record.Run{Length: 2 * time.Second, Machine: record.Machine{Cores: 4}, System: record.System{Seen: true, TargetCPU: 1, TargetDelay: 0.25, DependencyCPU: 0.25, OthersCPU: 0.5}}
	r.Totals.Generator.CPUSeconds = 1
	if c := CPUOf(r, 2); c != (CPU{Target: 1, Ready: 1.25, Others: 0.75, Limit: 2, Machine: 4, Taken: 0.125}) {
		t.Errorf("%+v", c)
	}
	r.Target.Quota = 1.5
	if c := CPUOf(r, 0); c.Limit != 1.5 || c.Machine != 4 {
		t.Errorf("with a quota of its own: %+v", c)
	}
	r.Target.Shared = true
	if c := CPUOf(r, 2); c.Limit != 2 || c.Machine != 1.5 {
		t.Errorf("with a shared quota: %+v", c)
	}
	r.System.Elsewhere = true
	if c := CPUOf(r, 8); c.Others != 0 || c.Machine != 8 {
		t.Errorf("on another machine: %+v", c)
	}
	r.System.Seen = false
	if c := CPUOf(r, 8); c != (CPU{}) {
		t.Errorf("unseen: %+v", c)
	}
}

func TestLoad(t *testing.T) {
	half := time.Second / 2
	l := CPUUseOf([]*record.Slice{{Length: half, Served: 300, TargetCPU: 0.2, TargetDelay: 0.4, DependencyCPU: 0.1, GeneratorCPU: 0.1}, {Length: half, Served: 100, TargetCPU: 0.2}})
	if l != (CPUUse{PerS: 400, Target: 0.4, Ready: 0.8, Others: 0.2}) || math.Abs(l.Micros()-1000) > 1e-9 {
		t.Errorf("%+v", l)
	}
	c := CPU{Target: 1, Ready: 1.9, Limit: 2, Machine: 2}
	if at := c.At(l); at != (CPU{Target: 0.4, Ready: 0.8, Others: 0.2, Limit: 2, Machine: 2}) || at.UsedUp() || !c.UsedUp() {
		t.Errorf("%+v", at)
	}
	if at := c.At(CPUUse{Target: 0.4, Ready: 0.4}); at.Ready != 1.9 {
		t.Errorf("without the time in which threads were ready: %+v", at)
	}
	if at := c.At(CPUUseOf(nil)); at != c {
		t.Errorf("without slices: %+v", at)
	}
	r := &record.Run{Length: 2 * time.Second, Machine: record.Machine{Cores: 2}, System: record.System{Seen: true, TargetCPU: 0.5, TargetDelay: 0.5}}
	r.Totals.ThroughputPerS = 1000
	if l := CPUUseOfRuns([]*record.Run{r, r}); l != (CPUUse{PerS: 1000, Target: 0.5, Ready: 1}) {
		t.Errorf("%+v", l)
	}
}
