package diagnose

import (
	"testing"
	"time"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// carryOut runs a plan against a service whose throughput for each number of clients is given.
func carryOut(t *testing.T, p Plan, perSecond func(record.RunSpec) float64) (runs []*record.Run) {
	t.Helper()
	p.Variant = "v"
	for range 20 {
		step, done := p.Next(runs)
		if done {
			return runs
		}
		r := saturated(max(step.Connections, 1), perSecond(step))
		r.Spec, r.System.TargetCPU = step, 1.9
		if step.Role == record.RoleProfile {
			r.FixtureProfiles = []*record.Profile{{Type: record.ValueCPU, Stacks: []record.Stack{stack(1, "main.work", handler[0])}}}
			r.FixtureTrace = &record.Trace{Seconds: 0.5, Procs: 2, Running: 0.95}
		}
		runs = append(runs, r)
	}
	t.Fatal("the plan does not end")
	return nil
}

func saturating(most float64) func(record.RunSpec) float64 {
	return func(s record.RunSpec) float64 { return min(100*float64(s.Connections), most) }
}

func clientsOf(runs []*record.Run) (out []int) {
	for _, r := range runs {
		if r.Spec.Role == record.RoleSaturate && r.Spec.Round == 0 {
			out = append(out, r.Spec.Connections)
		}
	}
	return out
}

func TestSweepEndsWhereTheThroughputDoes(t *testing.T) {
	for _, c := range []struct {
		name string
		plan Plan
		rate func(record.RunSpec) float64
		want []int
	}{
		{"saturated immediately", Plan{}, saturating(100), []int{1, 8, 32}},
		{"after a while", Plan{}, saturating(5000), []int{1, 8, 32, 128, 512}},
		{"never", Plan{}, saturating(1e9), []int{1, 8, 32, 128, 512}},
		{"told to stop", Plan{Most: 20}, saturating(1e9), []int{1, 8, 20}},
		{"told to have one", Plan{Most: 1}, saturating(1e9), []int{1}},
	} {
		runs := carryOut(t, c.plan, c.rate)
		got := clientsOf(runs)
		if len(got) != len(c.want) || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		last := runs[len(got)-1].Spec
		if last.Capped != (c.plan.Most > 0) {
			t.Errorf("%s: capped %v", c.name, last.Capped)
		}
	}
}

func TestPlanProfilesWhereItSaturated(t *testing.T) {
	runs := carryOut(t, Plan{Profiled: time.Second, Intervene: true}, func(s record.RunSpec) float64 {
		if s.Change != nil {
			return 60
		}
		return 100
	})
	var roles []string
	for _, r := range runs {
		roles = append(roles, r.Spec.Role)
		if r.Spec.Role != record.RoleSaturate && r.Spec.Connections != 32 {
			t.Errorf("%s with %d clients", r.Spec.Role, r.Spec.Connections)
		}
	}
	want := []string{record.RoleSaturate, record.RoleSaturate, record.RoleSaturate, record.RoleProfile, record.RoleIntervene, record.RoleSaturate}
	if len(roles) != len(want) {
		t.Fatalf("%v", roles)
	}
	for i := range want {
		if roles[i] != want[i] {
			t.Fatalf("%v, want %v", roles, want)
		}
	}
	if c := runs[4].Spec.Change; c == nil || c.Procs != 1 {
		t.Errorf("what computes is given a processor less: %+v", c)
	}
}

func TestPlanOfOneRate(t *testing.T) {
	runs := carryOut(t, Plan{Rate: 500}, func(record.RunSpec) float64 { return 480 })
	if len(runs) != 2 || runs[0].Spec.Rate != 500 || runs[0].Spec.Closed || runs[1].Spec.Role != record.RoleProfile {
		t.Errorf("%d runs, first %+v", len(runs), runs[0].Spec)
	}
}

func TestPlanWithoutAnythingToChange(t *testing.T) {
	p := Plan{Variant: "v", Intervene: true}
	runs := sweep(100, 100, 100)
	for _, r := range runs {
		r.Target = record.Target{} // it runs on another machine and has no debug address
	}
	if step, done := p.Next(runs); !done {
		t.Errorf("%+v", step)
	}
}

// A service that rejects requests is diagnosed at the load that it still carried.
func TestSweepEndsAtErrors(t *testing.T) {
	p := Plan{Variant: "v"}
	runs := sweep(100, 400, 40_000)
	runs[2].Totals.Failed = 39_000
	step, done := p.Next(runs)
	if done || step.Role != record.RoleProfile || step.Connections != 8 {
		t.Errorf("%v %+v", done, step)
	}
	for _, r := range runs {
		r.Totals.Failed = r.Totals.Ended / 10
	}
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Bottleneck != rules.Unknown || d.Kind != rules.Refused || d.PeakPerS > 36_000 {
		t.Errorf("%s %s, peak %v: %s", d.Bottleneck, d.Kind, d.PeakPerS, d.Text)
	}
}

// A slow service gets longer runs.
func TestPlanForSlowServices(t *testing.T) {
	p := Plan{Variant: "v", Length: time.Second}
	slow := saturated(1, 1) // a second per request
	if step, _ := p.Next([]*record.Run{slow}); step.Connections != 8 || step.Length != 10*time.Second {
		t.Errorf("%+v", step)
	}
	none := saturated(1, 1)
	none.Totals.Ended, none.Totals.Completed, none.Totals.ThroughputPerS, none.Totals.Service.Mean = 0, 0, 0, 0
	none.Spec.Length = time.Second
	if step, _ := p.Next([]*record.Run{none}); step.Connections != 1 || step.Length != longest {
		t.Errorf("%+v", step)
	}
}
