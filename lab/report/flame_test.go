package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"dyno/lab/diagnose"
	"dyno/lab/record"

	"github.com/google/pprof/profile"
	"pgregory.net/rapid"
)

// sum adds up a graph's figures as the page does: below each path of function names, by frames.
func sum(f *Flames, g Flame) map[string]float64 {
	out, path := map[string]float64{}, []string{}
	for i, fn := range g.Functions {
		path = append(path[:g.Depths[i]], f.Functions[fn])
		out[strings.Join(path, ";")] += g.Self[i]
	}
	return out
}

// TestFlamesArePerRequest reads what the page would draw of one variant.
func TestFlamesArePerRequest(t *testing.T) {
	f := madeDiagnose().report().Flames
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

// drawProfile makes any profile: also what no runtime writes.
func drawProfile(t *rapid.T) *record.Profile {
	p := &record.Profile{Type: record.ValueCPU, Requests: rapid.Float64Range(0, 1e6).Draw(t, "requests")}
	name := rapid.SampledFrom([]string{"a.F", "b.G", "c.(*H).I", "", "(rest)", "d/e@v1.J", hostile})
	for range rapid.IntRange(0, 60).Draw(t, "stacks") {
		s := record.Stack{Value: rapid.Float64Range(-5, 1e9).Draw(t, "value")}
		for range rapid.IntRange(0, 9).Draw(t, "frames") {
			s.Frames = append(s.Frames, record.Frame{Function: name.Draw(t, "function"), Line: rapid.IntRange(-1, 9).Draw(t, "line")})
		}
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

// TestFlamesKeepTheTotal holds for any profile that nothing is lost where stacks are summed up, and that
// the arrays describe a tree.
func TestFlamesKeepTheTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMade(record.KindDiagnose, "p99=60ms")
		m.variant("v", "", "", 1000)
		r := m.run(record.RoleProfile, "v", 0, 900)
		p := drawProfile(t)
		r.FixtureProfiles = []*record.Profile{p}
		f := flames(m.Experiment)
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

// TestFlamesStaySmall: however many stacks there are, the page stays within its bounds, and says what it
// left out.
func TestFlamesStaySmall(t *testing.T) {
	m := newMade(record.KindLadder, "p99=60ms")
	for _, name := range []string{"a", "b", "c", "d"} {
		m.variant(name, "", "", 1000)
		r := m.run(record.RoleProfile, name, 0, 900)
		wide := &record.Profile{Type: record.ValueCPU, Requests: 1}
		for i := range 900 {
			s := record.Stack{Value: 1000}
			for depth := range 40 {
				s.Frames = append(s.Frames, record.Frame{Function: "p.F" + strings.Repeat("x", i%30) + string(rune('a'+depth%26)) + string(rune('A'+i/30))})
			}
			wide.Stacks = append(wide.Stacks, s)
		}
		deep := &record.Profile{Type: record.ValueDelay, Requests: 1, Stacks: []record.Stack{{Value: 1, Frames: make([]record.Frame, 5000)}}}
		r.FixtureProfiles = []*record.Profile{wide, deep}
	}
	f := m.report().Flames
	frames := 0
	for _, g := range f.Graphs {
		frames += len(g.Functions)
		if g.Deepest > 257 {
			t.Errorf("%s, %s: %d frames deep", g.Variant, g.Kind, g.Deepest)
		}
	}
	if frames > 40_000 || frames == 0 || f.Least <= 0.001 {
		t.Errorf("%d frames, stacks summed up below %v", frames, f.Least)
	}
	if encoded, err := json.Marshal(f); err != nil || len(encoded) > 40*40_000 {
		t.Errorf("%d bytes, %v", len(encoded), err)
	}
	var b bytes.Buffer
	if err := HTML(&b, m.report()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "Stacks below "+f.LeastWords()+" of a graph") {
		t.Error("the page does not say what was summed up")
	}
}

// TestTooManyGraphsAreSaid: graphs that fit under no share are left out.
func TestTooManyGraphsAreSaid(t *testing.T) {
	f := &Flames{Graphs: make([]Flame, 3)}
	var trees []*frame
	for range 3 {
		p := &record.Profile{}
		for i := range 40 {
			s := record.Stack{Value: 1}
			for depth := range flameDepth {
				s.Frames = append(s.Frames, record.Frame{Function: string(rune('a'+i)) + string(rune('a'+depth))})
			}
			p.Stacks = append(p.Stacks, s, s, s)
		}
		trees = append(trees, newFrames(p, 1))
	}
	for len(trees) < 9 {
		trees, f.Graphs = append(trees, trees[0]), append(f.Graphs, Flame{})
	}
	f.write(trees)
	if want := flameNodes / (40 * flameDepth); len(f.Graphs) != want || f.Left != 9-want {
		t.Errorf("%d graphs, %d left out, want %d", len(f.Graphs), f.Left, want)
	}
}

// TestFlamesFromAFolder reads profiles as the runtime writes them: what was allocated is the difference of
// two heap profiles, and what was not taken is said.
func TestFlamesFromAFolder(t *testing.T) {
	m := newMade(record.KindCapacity, "p99=60ms")
	m.variant("v", "", "", 1000)
	r := m.run(record.RoleProfile, "v", 0, 900)
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
		file, err := record.AddProfile(r.Dir, kind, b.Bytes(), 0)
		if err != nil {
			t.Fatal(err)
		}
		file.Requests = 10
		r.Profiles = append(r.Profiles, file)
	}
	heap(record.ProfileHeapStart, 20)
	heap(record.ProfileHeap, 60)
	r.Profiles = append(r.Profiles, record.ProfileFile{Kind: record.ProfileMutex, Why: "the target has no agent"})
	f := flames(m.Experiment)
	if len(f.Graphs) != 2 || f.Graphs[0].Self[0] != 400 || f.Graphs[1].Self[0] != 4 || f.Graphs[0].Lines[0] != 7 || f.Files[1] != "main.go" {
		t.Errorf("%+v", f)
	}
	if !strings.Contains(strings.Join(f.Missing, "\n"), "v: there is no mutex profile: the target has no agent") {
		t.Errorf("missing: %q", f.Missing)
	}
}

func TestOrigins(t *testing.T) {
	for _, c := range []struct {
		function, file string
		pkg            string
		want           int
	}{
		{"net/http.(*conn).serve", "/usr/local/go/src/net/http/server.go", "net/http", originStd},
		{"net/http.(*conn).serve", "net/http/server.go", "net/http", originStd},
		{"runtime.mallocgc", "/usr/local/go/src/runtime/malloc.go", "runtime", originRuntime},
		{"internal/runtime/maps.(*Map).Put", "", "internal/runtime/maps", originRuntime},
		{"memeqbody", "/usr/local/go/src/internal/bytealg/equal_amd64.s", "memeqbody", originRuntime},
		{"main.main", "/src/main.go", "main", originService},
		{"dyno/parts/queue.(*Ring[go.shape.string]).Put", "dyno/parts/queue/ring.go", "dyno/parts/queue", originService},
		{"dyno/parts/queue.Put[github.com/x/y.Z]", "", "dyno/parts/queue", originService},
		{"github.com/jackc/pgx/v5.(*Conn).Query", "/home/me/go/pkg/mod/github.com/jackc/pgx/v5@v5.7.1/conn.go", "github.com/jackc/pgx/v5", originLibrary},
		{"github.com/acme/shop.Serve", "/home/me/shop/serve.go", "github.com/acme/shop", originService},
		{"example.com/x.F", "/home/me/shop/vendor/example.com/x/x.go", "example.com/x", originLibrary},
		{summedUp, "", "(rest)", originRest},
	} {
		if got := originOf(c.function, c.file); got != c.want {
			t.Errorf("%s in %s: origin %d, want %d", c.function, c.file, got, c.want)
		}
		if got := packageOf(c.function); got != c.pkg {
			t.Errorf("%s: package %s, want %s", c.function, got, c.pkg)
		}
	}
}

// hostileCause has a hostile name wherever a diagnosis or a profile can hold one.
func hostileCause() *Report {
	m := newMade(record.KindDiagnose, "p99=60ms")
	m.Name, m.Service = hostile, hostile
	m.variant(hostile, "", "", 9800)
	m.cause(hostile, "", 1)
	bad := hostile + "\x1b[31m\u202e"
	place := []diagnose.Place{{Function: bad, File: "/" + bad + "/" + bad, Line: 1, Share: math.NaN()}}
	figures := []diagnose.Evidence{{Signal: bad, Value: 1, Unit: bad, Means: bad}, {Signal: bad, Value: math.Inf(1)}}
	m.diagnoses[0] = diagnose.Diagnosis{Variant: hostile, Valid: true, Bound: diagnose.Bound(bad), Kind: bad, Also: []diagnose.Bound{diagnose.Bound(bad)}, Where: place,
		InWords: bad, Moved: bad, Evidence: figures, Interventions: []diagnose.Intervention{{Changed: bad, Predicted: bad, Saw: bad}},
		Findings: []diagnose.Finding{{Kind: bad, InWords: bad, Evidence: figures, Where: place, Next: "dyno " + bad + "`", Profile: bad}},
		Unseen:   []string{bad}, Warnings: []string{bad}, CapacityPerS: math.NaN(), Signals: diagnose.Signals{diagnose.Utilisation: 7, diagnose.Waiting: -3, bad: math.NaN()}}
	for _, p := range m.Runs[3].FixtureProfiles {
		p.Stacks = append(p.Stacks, record.Stack{Value: p.Total(), Frames: []record.Frame{{Function: bad, File: bad}}})
	}
	for _, r := range m.Runs {
		for i := range r.Stages {
			r.Stages[i].Name, r.Stages[i].Transaction = bad, bad
		}
	}
	return m.report()
}
