package view_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/record/folder"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/view"

	"github.com/google/pprof/profile"
	"pgregory.net/rapid"
)

// sum adds up a graph's figures as the page does: below each path of function names, by frames.
func sum(f *view.Profiles, g view.Flame) map[string]float64 {
	out, path := map[string]float64{}, []string{}
	for i, fn := range g.Functions {
		path = append(path[:g.Depths[i]], f.Functions[fn])
		out[strings.Join(path, ";")] += g.Self[i]
	}
	return out
}

// TestFlamesArePerRequest reads what the page would draw of one variant.
func TestFlamesArePerRequest(t *testing.T) {
	f := reporttest.Diagnose().Report().Flames
	want := map[string]struct {
		unit  string
		total float64
	}{
		"cpu": {"us per request", 312.01}, "heap": {"bytes per request", 78 * 64}, "objects": {"objects per request", 78},
		"mutex": {"us per request", 102}, "block": {"us per request", 102}, // a made-up run has one kind of delay
	}
	if len(f.Graphs) != len(want) {
		t.Fatalf("%d graphs", len(f.Graphs))
	}
	for _, g := range f.Graphs {
		total := 0.0
		for _, v := range g.Self {
			total += v
		}
		if w := want[g.Kind]; g.Unit != w.unit || math.Abs(total-w.total) > 1e-6 || g.Variant != "notify" {
			t.Errorf("%s: %v %s of %q, want %v %s", g.Kind, total, g.Unit, g.Variant, w.total, w.unit)
		}
	}
	cpu := sum(f, f.Graphs[0])
	if got := cpu["runtime.mcall;runtime.schedule;runtime.findRunnable;runtime.futex"]; got != 22 {
		t.Errorf("the futex takes %v us, want 22", got)
	}
	// 0.01 of 312 us are the frame's own; a child of so little would have been summed up.
	if got := cpu["runtime.mcall;runtime.schedule"]; math.Abs(got-0.01) > 1e-9 {
		t.Errorf("the scheduler itself takes %v us, want 0.01", got)
	}
	if len(f.Missing) != 1 || !strings.Contains(f.Missing[0], "no goroutine profile") {
		t.Errorf("missing: %q", f.Missing)
	}
}

// drawProfile makes any profile: also what no runtime writes. Its values and the rate of requests
// are whole numbers, so that no figure is rounded to 0 or to infinity.
func drawProfile(t *rapid.T) *record.Profile {
	seconds := rapid.Float64Range(0.1, 60).Draw(t, "seconds")
	p := &record.Profile{Type: record.ValueCPU, Seconds: seconds, Requests: seconds * float64(rapid.IntRange(0, 1e5).Draw(t, "requests/s"))}
	name := rapid.SampledFrom([]string{"a.F", "b.G", "c.(*H).I", "", "(rest)", "d/e@v1.J", reporttest.Hostile})
	for range rapid.IntRange(0, 60).Draw(t, "stacks") {
		s := record.Stack{Value: float64(rapid.IntRange(-5, 1e9).Draw(t, "value"))}
		for range rapid.IntRange(0, 9).Draw(t, "frames") {
			s.Frames = append(s.Frames, record.Frame{Function: name.Draw(t, "function"), Line: rapid.IntRange(-1, 9).Draw(t, "line")})
		}
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

// TestFlamesKeepTheTotal holds for any profile that nothing is lost where stacks are summed up, and
// that the arrays describe a tree.
func TestFlamesKeepTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := reporttest.New(record.KindDiagnose, "p99=60ms")
		m.AddVariant("v", "", "", 1000)
		r := m.AddRun(record.RoleProfile, "v", 0, 900)
		p := drawProfile(t)
		r.FixtureProfiles = []*record.Profile{p}
		f := view.FlamesOf(m.Experiment)
		want := 0.0 // us, per request where they were counted
		for _, s := range p.Stacks {
			want += max(0, s.Value) * 1e-3
		}
		if p.Requests > 0 {
			want /= p.Requests
		}
		if len(f.Graphs) == 0 {
			if want > 0 {
				t.Fatal("a profile is not drawn")
			}
			return
		}
		g, got, depth := f.Graphs[0], 0.0, 0
		for i := range g.Self {
			got += g.Self[i]
			if g.Depths[i] > depth || g.Functions[i] < 0 || g.Functions[i] >= len(f.Functions) {
				t.Fatalf("frame %d is no child of any", i)
			}
			depth = g.Depths[i] + 1
		}
		if math.Abs(got-want) > 1e-9*want {
			t.Fatalf("%v is drawn of %v", got, want)
		}
		if len(f.Functions) != len(f.Files) || len(f.Functions) != len(f.Origins) {
			t.Fatal("the tables of functions differ in length")
		}
	})
}

// TestFlamesFromAFolder reads profiles as the runtime writes them: what was allocated is the
// difference of two heap profiles, and what was not taken is said.
func TestFlamesFromAFolder(t *testing.T) {
	m := reporttest.New(record.KindCapacity, "p99=60ms")
	m.AddVariant("v", "", "", 1000)
	r := m.AddRun(record.RoleProfile, "v", 0, 900)
	r.Dir = t.TempDir()
	heap := func(kind string, objects int64) {
		var b bytes.Buffer
		fn := &profile.Function{ID: 1, Name: "main.work", Filename: "/src/main.go"}
		at := &profile.Location{ID: 1, Line: []profile.Line{{Function: fn, Line: 7}}}
		p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}},
			Sample: []*profile.Sample{{Location: []*profile.Location{at}, Value: []int64{objects, objects * 100}}}, Function: []*profile.Function{fn}, Location: []*profile.Location{at}}
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		file, err := folder.AddProfile(r.Dir, kind, b.Bytes(), 0)
		if err != nil {
			t.Fatal(err)
		}
		file.Requests = 10
		r.Profiles = append(r.Profiles, file)
	}
	heap(record.ProfileHeapStart, 20)
	heap(record.ProfileHeap, 60)
	r.Profiles = append(r.Profiles, record.ProfileFile{Kind: record.ProfileMutex, Why: "the target has no agent"})
	f := view.FlamesOf(m.Experiment)
	if len(f.Graphs) != 2 || f.Graphs[0].Self[0] != 400 || f.Graphs[1].Self[0] != 4 || f.Graphs[0].Lines[0] != 7 || f.Files[1] != "main.go" {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(strings.Join(f.Missing, "\n"), "v: there is no mutex profile: the target has no agent") {
		t.Errorf("missing: %q", f.Missing)
	}
}
