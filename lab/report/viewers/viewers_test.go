package viewers

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report/reporttest"
)

func written[T any](t *testing.T, write func(io.Writer, *record.Experiment) error, e *record.Experiment) (out T) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, e); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

type trace struct {
	TraceEvents []struct {
		Name, Ph string
		Ts, Dur  float64
		Pid, Tid int
		Args     map[string]any
	} `json:"traceEvents"`
	DisplayTimeUnit string `json:"displayTimeUnit"`
}

// A trace has each run as a process with its phases, and counters that lie within it.
func TestPerfetto(t *testing.T) {
	made := reporttest.Ladder()
	got := written[trace](t, Perfetto, made.Experiment)
	named, ends := map[int]string{}, map[int]float64{}
	counters := 0
	for _, e := range got.TraceEvents {
		switch e.Ph {
		case "M":
			named[e.Pid] = e.Args["name"].(string)
		case "X":
			ends[e.Pid] = max(ends[e.Pid], e.Ts+e.Dur)
		case "C":
			counters++
			if e.Ts < 0 || e.Ts > ends[e.Pid] || len(e.Args) == 0 {
				t.Fatalf("%+v lies outside of its run", e)
			}
		default:
			t.Fatalf("%+v", e)
		}
	}
	if len(named) != len(made.Runs) || named[1] != made.Runs[0].ID || counters == 0 || len(ends) != len(made.Runs) {
		t.Errorf("%d processes of %d runs, %d counters", len(named), len(made.Runs), counters)
	}
}

// Turns are a process with a thread for each variant.
func TestPerfettoOfTurns(t *testing.T) {
	e := &record.Experiment{Slices: []record.Slice{
		{Kind: record.SliceWork, Variant: "a", Start: 1e9, Length: 3e8, Served: 10},
		{Kind: record.SliceWork, Variant: "b", Start: 2e9, Length: 3e8},
		{Kind: record.SliceSLO, Variant: "a", Role: record.RoleControl, Start: 3e9, Length: 8e8}}}
	threads := map[int]string{}
	spans := 0
	for _, one := range written[trace](t, Perfetto, e).TraceEvents {
		if one.Name == "thread_name" {
			threads[one.Tid] = one.Args["name"].(string)
		}
		if one.Ph == "X" {
			spans++
		}
	}
	if spans != 3 || threads[1] != "a" || threads[2] != "b" || threads[3] != "a (twin)" {
		t.Errorf("%d slices on threads %v", spans, threads)
	}
	if err := Perfetto(io.Discard, &record.Experiment{}); err == nil {
		t.Error("an empty experiment has a trace")
	}
}

// Every profile is sampled: stacks of known frames, the root first, whose weights add up.
func TestSpeedscope(t *testing.T) {
	made := reporttest.Diagnose()
	got := written[file](t, Speedscope, made.Experiment)
	if len(got.Profiles) == 0 || len(got.Shared.Frames) == 0 {
		t.Fatalf("%d profiles, %d frames", len(got.Profiles), len(got.Shared.Frames))
	}
	for _, p := range got.Profiles {
		sum := 0.0
		for i, stack := range p.Samples {
			sum += p.Weights[i]
			for _, f := range stack {
				if f < 0 || f >= len(got.Shared.Frames) || got.Shared.Frames[f].Name == "" {
					t.Fatalf("%s: frame %d of %d", p.Name, f, len(got.Shared.Frames))
				}
			}
		}
		if p.Type != "sampled" || p.Start != 0 || p.End != sum || len(p.Samples) != len(p.Weights) {
			t.Errorf("%s: from %v to %v, weights %v, %d of %d", p.Name, p.Start, p.End, sum, len(p.Weights), len(p.Samples))
		}
	}
	var run *record.Run
	for _, r := range made.Runs {
		if len(r.FixtureProfiles) > 0 {
			run = r
		}
	}
	cpu, err := run.Profile(record.ProfileCPU, record.ValueCPU)
	if err != nil {
		t.Fatal(err)
	}
	var stack []int
	for _, p := range got.Profiles {
		if p.Name == run.ID+": CPU" {
			stack = p.Samples[0]
		}
	}
	if leaf := got.Shared.Frames[stack[len(stack)-1]]; leaf.Name != cpu.Stacks[0].Frames[0].Function {
		t.Errorf("the leaf is %s, want %s", leaf.Name, cpu.Stacks[0].Frames[0].Function)
	}
	if err := Speedscope(io.Discard, &record.Experiment{}); err == nil {
		t.Error("an experiment without profiles has a file")
	}
}
