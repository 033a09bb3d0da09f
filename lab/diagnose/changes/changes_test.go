package changes

import (
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
)

// stack makes a stack, the leaf first. Functions of package main are the program's own.
func stack(value float64, functions ...string) record.Stack {
	s := record.Stack{Value: value}
	for i, f := range functions {
		own := strings.HasPrefix(f, "main.")
		s.Frames = append(s.Frames, record.Frame{Function: f, File: "/src/app/main.go", Line: 10 + i, Own: own})
	}
	return s
}

// pair returns an experiment with a run under profiles for each side; side b takes twice the CPU
// time per request.
func pair(a, b []record.Stack) *record.Experiment {
	e := &record.Experiment{}
	for i, of := range [][]record.Stack{a, b} {
		variant := []string{"a", "b"}[i]
		r := &record.Run{Spec: record.RunSpec{Role: record.RoleProfile, Variant: variant}}
		r.FixtureProfiles = []*record.Profile{{Type: record.ValueCPU, Seconds: 2, Requests: 1000, Stacks: of}}
		e.Runs = append(e.Runs, r)
		// 1000 requests in 0.1 s of CPU time: 100 us each.
		e.Slices = append(e.Slices, record.Slice{Kind: record.SliceWork, Role: record.RoleMeasure, Variant: variant, Served: 1000, TargetCPU: 0.1, Length: time.Second})
	}
	e.Slices[1].TargetCPU = 0.2
	return e
}

const (
	ms   = 1e6
	read = "net/http.(*conn).serve"
)

func TestFunctionsThatChanged(t *testing.T) {
	e := pair(
		[]record.Stack{stack(1000*ms, "main.handle", read), stack(1000*ms, "net/http.readRequest", read)},
		[]record.Stack{stack(1000*ms, "main.handle", read), stack(1000*ms, "net/http.readRequest", read),
			stack(2000*ms, "crypto/sha256.Sum256", "main.sign", "main.handle", read)})
	c := Of(e, "a", "b")
	r := c.Resources[0]
	if len(r.Functions) != 1 {
		t.Fatalf("changed: %+v, want main.sign alone", r.Functions)
	}
	if r.Ratio[0] <= 1.5 || r.Ratio[0] >= 2 || r.Ratio[1] <= 2 {
		t.Errorf("twice the cost is a ratio in %v", r.Ratio)
	}
	f := r.Functions[0]
	if f.Name != "main.sign" || f.Before != 0 || f.After != 100 || f.Callee != "crypto/sha256.Sum256" {
		t.Errorf("%+v, want main.sign from 0 to 100 us", f)
	}
	if f.Change[0] <= 0 || f.Change[0] >= 100 || f.Change[1] <= 100 {
		t.Errorf("interval %v of a change of 100 us", f.Change)
	}
	lines := strings.Join(c.Lines(), "\n")
	if !strings.Contains(lines, "main.sign (main.go:11), most of it in crypto/sha256.Sum256: 0 to 100, +100 [+") || !strings.Contains(lines, "allocations by function: not seen: a: no heap profile") {
		t.Errorf("lines:\n%s", lines)
	}
}

// Few samples decide nothing, and equal profiles show no change.
func TestChanceIsNoChange(t *testing.T) {
	few := pair([]record.Stack{stack(50*ms, "main.a", read), stack(30*ms, "main.b", read)}, []record.Stack{stack(30*ms, "main.a", read), stack(60*ms, "main.b", read)})
	few.Slices = nil
	for i, e := range []*record.Experiment{few, pair([]record.Stack{stack(900*ms, "main.a", read)}, []record.Stack{stack(900*ms, "main.a", read)})} {
		if i == 1 {
			e.Slices = nil
		}
		if r := Of(e, "a", "b").Resources[0]; len(r.Functions) != 0 {
			t.Errorf("%d: %+v", i, r.Functions)
		}
	}
	if c := Of(&record.Experiment{}, "a", "b"); c != nil {
		t.Errorf("without profiles: %+v", c)
	}
	one := pair(nil, nil)
	one.Runs = one.Runs[:1]
	if c := Of(one, "a", "b"); c == nil || c.Resources[0].Unseen == "" {
		t.Errorf("one side: %+v", c)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 12345: "12300", 1.2345: "1.23", 0.00123456: "0.00123", 100: "100"} {
		if got := digits(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
