package suite

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/bench/calibrate/calibration"
	"dyno/lab/record"
)

func TestRemedied(t *testing.T) {
	s := Server{Name: "pool-sql", Remedies: []Remedy{{Text: "twice as many", Scale: map[string]float64{"max_open": 2, "a_us": 0.5}, Bound: 0.5}}}
	sc := s.remedied(7, "agent")
	if sc.Mode != record.KindCompare || len(sc.Variants) != 2 || len(sc.Variants[0].Args) != 0 {
		t.Fatalf("%+v", sc)
	}
	if want := []string{"--scale", "a_us=0.5", "--scale", "max_open=2"}; !slices.Equal(sc.Variants[1].Args, want) {
		t.Errorf("%v, want %v", sc.Variants[1].Args, want)
	}
}

// ladder is a recorded ladder of two steps on two used-up cores: the second computes half as much.
func ladder() *record.Experiment {
	e := &record.Experiment{Kind: record.KindLadder, Variants: []record.Variant{{Name: "plain"}, {Name: "lean", Change: "half as much"}}}
	for i, us := range []float64{2000, 1000} {
		name := e.Variants[i].Name
		r := &record.Run{Spec: record.RunSpec{Role: record.RoleProfile, Variant: name, Connections: 32, Closed: true}, Length: time.Second,
			Machine: record.Machine{Cores: 2}, Load: record.LoadInfo{Model: "closed", Connections: 32},
			Target: record.Target{Agent: true, Pprof: true, Procs: 2, PID: 1},
			System: record.System{Seen: true, TargetCPU: 2}}
		r.Totals.ThroughputPerS = 2e6 / us
		p := &record.Profile{Type: record.ValueCPU, Seconds: 2, Requests: 2 * r.Totals.ThroughputPerS}
		for at, part := range map[string]float64{"crypto/sha256.block": 1000, "encoding/json.Marshal": us - 1000} {
			frames := []record.Frame{{Function: at}, {Function: "main.handle", File: "/src/main.go", Line: 3}}
			p.Stacks = append(p.Stacks, record.Stack{Frames: frames, Value: part * 1e3 * p.Requests})
		}
		r.FixtureProfiles = []*record.Profile{p}
		r.FixtureTrace = &record.Trace{Seconds: 0.5, Procs: 2, Running: 1}
		e.Runs = append(e.Runs, r)
		for block := 1; block <= 30; block++ {
			e.Slices = append(e.Slices, record.Slice{Kind: record.SliceWork, Role: record.RoleMeasure, Variant: name, Generation: 1 + block/16, Block: block,
				Start: int64(block) * int64(time.Second), Length: 300 * time.Millisecond, Served: int64(600_000 / us), TargetCPU: 0.6})
		}
	}
	return e
}

func TestSteps(t *testing.T) {
	all := Steps(ladder())
	if len(all) != 1 || all[0].Step != "lean" || all[0].Change != "half as much" {
		t.Fatalf("%+v", all)
	}
	f := all[0]
	if math.Abs(f.Estimate.AtMost-2) > 1e-6 || math.Abs(f.Work.Times-2) > 0.01 || math.Abs(f.CPU.Times-0.5) > 0.01 {
		t.Errorf("%+v", f)
	}
	if mark, _ := f.Mark(); mark != calibration.Held {
		t.Errorf("%s", mark)
	}
}

// A ladder whose budget ended before a step's profiles estimates from what its turns measured, and
// says so where the step before it has none.
func TestStepsWithoutProfiles(t *testing.T) {
	e := ladder()
	all := e.Runs
	e.Runs = all[:1]
	if f := Steps(e)[0]; math.Abs(f.Estimate.AtMost-2) > 1e-6 {
		t.Errorf("%+v", f)
	}
	e.Runs = all[1:]
	f := Steps(e)[0]
	if mark, _ := f.Mark(); mark != calibration.Open || !strings.Contains(f.Why(), "a run under profiles") {
		t.Errorf("%+v", f)
	}
}
