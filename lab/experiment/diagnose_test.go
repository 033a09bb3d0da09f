package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/lab/diagnose"
	"dyno/lab/experiment/experimenttest"
	"dyno/lab/probe/host"
	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/scenario"
	"dyno/parts/quicktest"
)

// roles returns the roles of an experiment's runs in order, without the invalid runs that were
// repeated.
func roles(exp *record.Experiment) []string {
	var out []string
	for _, r := range exp.Runs {
		name := fmt.Sprintf("%s %d", r.Spec.Role, r.Spec.Connections)
		if r.Spec.Round > 0 {
			name += " again"
		}
		if len(out) == 0 || out[len(out)-1] != name {
			out = append(out, name)
		}
	}
	return out
}

// A diagnosis from end to end, of servers that show more or less of themselves. The verdict
// depends on the machine, so the test does not check it; it checks the runs that lead to it.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		inside   string
		clients  int // at most; one is quickest, since that ends the sweep
		roles    []string
		profiles []string // kinds of profiles that have a file
		lacks    []string // kinds of profiles that have a reason instead
		unseen   string
		trace    bool
	}{
		{inside: "agent", clients: 8, roles: []string{"saturate 1", "saturate 8", "profile 8"}, trace: true,
			profiles: []string{record.ProfileCPU, record.ProfileHeapStart, record.ProfileHeap, record.ProfileBlock, record.ProfileGoroStart, record.ProfileGoroutine}},
		{inside: "pprof", clients: 1, roles: []string{"saturate 1", "profile 1"}, trace: true, unseen: "not the agent", lacks: []string{record.ProfileMutex, record.ProfileBlock},
			profiles: []string{record.ProfileCPU, record.ProfileHeapStart, record.ProfileHeap, record.ProfileGoroutine}},
		{inside: "none", clients: 1, roles: []string{"saturate 1", "profile 1"}, unseen: "from outside only"},
	} {
		t.Run(c.inside, func(t *testing.T) {
			t.Parallel()
			quicktest.Skip(t, "loads a process for seconds")
			sc := experimenttest.Running(t, c.inside)
			keeps := func(string) {}
			if c.inside == "agent" {
				keeps = experimenttest.Give(t, sc.Target.Debug)
			}
			x := begun(t, Options{Scenario: sc, Depth: Quick, Clients: c.clients})
			exp := x.exp
			exp.Machine = host.Machine()
			exp.Machine.Cores = 1 << 10 // with this number, neighbours take no share of the CPU that would repeat a run
			if err := x.execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			keeps("after the diagnosis")
			got, want := roles(exp), c.roles
			if c.inside == "agent" && len(got) > len(want) {
				want = append(want, "intervene 8", "saturate 8 again") // if the verdict makes a prediction
			}
			if !slices.Equal(got, want) {
				t.Fatalf("the runs are %q, want %q", got, want)
			}
			checkSubject(t, diagnose.NewSubject(sc.Name, exp.Runs), c.clients)
			again, err := folder.Open(exp.Dir)
			if err != nil {
				t.Fatal(err)
			}
			p := diagnose.NewSubject(sc.Name, again.Runs).Profiled
			experimenttest.HasNoLatency(t, p)
			for _, kind := range c.profiles {
				checkProfile(t, p, kind)
			}
			for _, kind := range c.lacks {
				checkWhy(t, p, kind)
			}
			if c.inside == "none" { // the kernel may or may not permit it
				if p.Profiles[0].Kind != record.ProfileCPU || len(p.Profiles) != 1 {
					t.Errorf("%+v", p.Profiles)
				} else if p.Profiles[0].Why == "" {
					checkProfile(t, p, record.ProfileCPU)
				}
			}
			if tr, err := p.Trace(); c.trace != (err == nil) || c.trace && (tr.Seconds <= 0 || tr.Requests <= 0 || tr.Goroutines == 0 || len(tr.Groups) == 0) {
				t.Errorf("trace %+v, %v", tr, err)
			}
			ds := diagnose.Diagnose(again)
			if len(ds) != 1 || ds[0].Text == "" || ds[0].PeakPerS <= 0 {
				t.Fatalf("%+v", ds)
			}
			if said := strings.Join(ds[0].Unseen, "; "); !strings.Contains(said, c.unseen) || c.unseen == "" && strings.Contains(said, "outside") {
				t.Errorf("what could not be seen: %q, want %q", said, c.unseen)
			}
		})
	}
}

// checkSubject checks what the runs record about their target and their profiles.
func checkSubject(t *testing.T, s diagnose.Subject, clients int) {
	t.Helper()
	for _, r := range s.Saturated {
		if r.Totals.Failed > 0 {
			t.Errorf("%s: %d of %d requests failed: %v", r.ID, r.Totals.Failed, r.Totals.Ended, r.Totals.Errors)
		}
		if r.Totals.Response.P50 <= 0 || r.Load.Model != "closed" || r.Target.PID == 0 || len(r.Profiles) > 0 {
			t.Errorf("%s: p50 %g, model %s, process %d, profiles %v", r.ID, r.Totals.Response.P50, r.Load.Model, r.Target.PID, r.Profiles)
		}
		if last := r.Spec.Connections == clients; r.Spec.Capped != last {
			t.Errorf("%s: capped %v", r.ID, r.Spec.Capped)
		}
	}
	for _, r := range s.Intervened {
		if r.Spec.Change == nil {
			t.Errorf("%s changes nothing", r.ID)
		}
	}
}

// values are the sample types that each kind of profile must have.
var values = map[string]string{record.ProfileCPU: record.ValueCPU, record.ProfileHeap: record.ValueInUseBytes,
	record.ProfileHeapStart: record.ValueInUseBytes, record.ProfileBlock: record.ValueDelay,
	record.ProfileGoroutine: record.ValueGoroutines, record.ProfileGoroStart: record.ValueGoroutines}

func checkProfile(t *testing.T, r *record.Run, kind string) {
	t.Helper()
	p, err := r.Profile(kind, values[kind])
	if err != nil {
		t.Errorf("%s profile: %v", kind, err)
		return
	}
	if len(p.Stacks) == 0 && kind != record.ProfileBlock { // there need not be any waits
		t.Errorf("the %s profile is empty", kind)
	}
	if p.Seconds > 0 && p.Requests <= 0 {
		t.Errorf("the %s profile was taken over %.1f s and yet over no request", kind, p.Seconds)
	}
}

func checkWhy(t *testing.T, r *record.Run, kind string) {
	t.Helper()
	i := slices.IndexFunc(r.Profiles, func(f record.ProfileFile) bool { return f.Kind == kind })
	if i < 0 || r.Profiles[i].Why == "" || r.Profiles[i].File != "" {
		t.Errorf("why there is no %s profile is not said: %+v", kind, r.Profiles)
	}
}

// If no request is answered, there is nothing to diagnose.
func TestUnanswered(t *testing.T) {
	run := func(ended, failed int64, errors map[string]int64) []*record.Run {
		r := &record.Run{Load: record.LoadInfo{URL: "http://127.0.0.1:1/"}}
		r.Totals.Offered, r.Totals.Ended, r.Totals.Failed, r.Totals.Errors = ended, ended, failed, errors
		return []*record.Run{r}
	}
	for name, runs := range map[string][]*record.Run{"no run": nil, "some good": run(10, 9, map[string]int64{"status": 9})} {
		if err := unanswered(runs); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := unanswered(run(10, 10, map[string]int64{"refused": 7, "timeout": 3}))
	if err == nil || !strings.Contains(err.Error(), "7 of 10 ended with \"refused\"") {
		t.Errorf("%v", err)
	}
	once := run(0, 0, nil)
	if err := unanswered(once); err != nil {
		t.Errorf("what is slow is tried again for longer: %v", err)
	}
	if unanswered(append(once, run(0, 0, nil)...)) == nil {
		t.Error("a target that answers nothing was looked into")
	}
}

// How a variant is diagnosed depends on what limits its load.
func TestLooking(t *testing.T) {
	for _, c := range []struct {
		name    string
		on      string
		maxRate float64
		found   float64
		rate    float64
		capped  bool
	}{
		{"by a closed loop", "", 0, 0, 0, false},
		{"by a closed loop, whatever the capacity", "", 0, 900, 0, false},
		{"no loop keeps to a rate", "", 200, 0, 200, true},
		{"the capacity may lie beyond the rate permitted", "", 200, 150, 200, true},
		{"work after the answer", record.OnDelivery, 0, 1000, 1050, false},
		{"work after the answer, up to the rate permitted", record.OnDelivery, 1000, 1000, 1000, true},
	} {
		sc := &scenario.Scenario{Load: scenario.Load{MaxRate: c.maxRate}}
		x := &executor{opts: Options{Scenario: sc, Depth: Quick, Clients: 5}, exp: &record.Experiment{SLO: record.SLO{On: c.on}}}
		p := x.diagnosePlan("v", c.found)
		if p.Variant != "v" || p.Most != 5 || p.Rate != c.rate || p.CapRate != c.capped || p.Length == 0 || p.Profiled < 5*time.Second {
			t.Errorf("%s: %+v, want %g/s, capped %v", c.name, p, c.rate, c.capped)
		}
	}
}

// A service is saturated by twice the requests in flight at the highest rate that met the SLO.
func TestInFlight(t *testing.T) {
	slice := func(served int64, ms float64, met bool) record.Slice {
		return record.Slice{Kind: record.SliceSLO, Variant: "v", Served: served, Length: time.Second, Latency: record.Quantiles{Mean: ms}, Met: met}
	}
	for _, c := range []struct {
		name   string
		slices []record.Slice
		want   int
	}{
		{"nothing was measured", nil, 2},
		{"the most that met", []record.Slice{slice(500, 2, true), slice(1000, 20, true), slice(1200, 100, false)}, 40},
		{"no more than a sweep has", []record.Slice{slice(1000, 5000, true)}, diagnose.MostClients},
	} {
		if got := inFlight(c.slices, "v"); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
