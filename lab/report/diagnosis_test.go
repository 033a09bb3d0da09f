package report

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"dyno/lab/compare"
	"dyno/lab/diagnose"
	"dyno/lab/record"
	"dyno/lab/report/figure"

	"pgregory.net/rapid"
)

// TestQuadrantsMeetWhereTheRulesSay: the picture's cross is at thresholds that exist.
func TestQuadrantsMeetWhereTheRulesSay(t *testing.T) {
	use, waiting := quadrantCross()
	if !(use > 50 && use < 100) || !(waiting > 0 && waiting < 100) {
		t.Errorf("the quadrants meet at %v and %v", use, waiting)
	}
}

func TestQuadrantPlacesTheVariants(t *testing.T) {
	svg, left := quadrant(madeWhy().report())
	if !slices.Equal(left, []string{"lock-free"}) || strings.Count(string(svg), "<circle") != 2 {
		t.Errorf("%d places, left out %q", strings.Count(string(svg), "<circle"), left)
	}
	if !strings.Contains(string(svg), `cx="97.00%" cy="88.00%"`) {
		t.Errorf("the baseline is not at 97%% and 12%%: %s", svg)
	}
	r := madeDiagnose().report()
	r.Diagnoses[0].Signals = diagnose.Signals{diagnose.Utilisation: 0.4, diagnose.LockWait: 0.9}
	if svg, _ := quadrant(r); !strings.Contains(string(svg), `cx="40.00%" cy="10.00%"`) {
		t.Errorf("without a trace, waits for locks should place it: %s", svg)
	}
	r.Diagnoses[0].Signals = nil
	if svg, left := quadrant(r); svg != "" || len(left) != 1 {
		t.Errorf("nothing is known, and %q drawn", svg)
	}
}

// TestRunsForTheCauseEnterNoCurve: their latency is the queue's.
func TestRunsForTheCauseEnterNoCurve(t *testing.T) {
	m := madeDiagnose()
	with := m.report()
	without := madeDiagnose()
	without.Runs = slices.DeleteFunc(without.Runs, func(r *record.Run) bool { return r.Step.Diagnostic() })
	if got, want := with.Curves[0].Line, without.report().Curves[0].Line; !slices.Equal(got, want) {
		t.Errorf("the curve has the rates %v, want %v", got, want)
	}
	real := Build(m.Experiment)
	for _, r := range real.Runs {
		if r.Role == record.RoleProfile && (r.P99.Known() || r.P50.Known()) {
			t.Error("the latency of a run under profiles is reported")
		}
		if r.Judged && r.Role != record.RoleSearch {
			t.Errorf("%s is judged by the SLO", r.ID)
		}
	}
	for _, tr := range real.Traces {
		if _, shown := tr.Series["p99"]; shown && strings.Contains(tr.Run, record.RoleProfile) {
			t.Errorf("%s: the latency of a run under profiles is drawn", tr.Run)
		}
	}
}

func TestDiagnosisAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Report)
		want   string
	}{
		{"as it is", func(*Report) {}, "notify carries 9,800/s at p99 <= 60 ms. A lock bounds it: at 32 requests in flight"},
		{"no capacity", func(r *Report) { r.Capacity = nil }, "A lock bounds it: at 32"},
		{"no words", func(r *Report) { r.Diagnoses[0].InWords = "" }, "It is bound by a lock (mutex), also allocation and GC."},
		{"nothing", func(r *Report) { r.Diagnoses = nil }, "Nothing was diagnosed."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := madeDiagnose().report()
			c.change(r)
			if got := AnswerOf(r); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestStepsAreExplained: what was measured of a step reaches diagnose, whose words reach the page.
func TestStepsAreExplained(t *testing.T) {
	m := madeWhy()
	for i := range m.diagnoses {
		m.diagnoses[i].Moved = ""
	}
	r := m.report()
	if got := r.Diagnoses[0].Moved; got != "" {
		t.Errorf("the baseline is explained: %s", got)
	}
	if got := r.Diagnoses[1].Moved; !strings.Contains(got, "1.26x") || !strings.Contains(got, "CPU") {
		t.Errorf("a faster step: %s", got)
	}
	if got := r.Diagnoses[2].Moved; !strings.Contains(got, "not decided") {
		t.Errorf("a step of which nothing is decided: %s", got)
	}
	c := madeCompare()
	c.diagnoses = []diagnose.Diagnosis{madeDiagnosis("baseline", 3000), madeDiagnosis("tuned", 4200)}
	if got := c.report().Diagnoses[1].Moved; !strings.Contains(got, "1.40x") {
		t.Errorf("a comparison: %s", got)
	}
	c.Metric = compare.MetricP99
	if got := c.report().Diagnoses[1].Moved; got != "" {
		t.Errorf("a ratio of latencies is no ratio of capacities: %s", got)
	}
}

// TestLinksLeadToFrames: a place is linked to the graph that holds its function, and to none other.
func TestLinksLeadToFrames(t *testing.T) {
	r := madeDiagnose().report()
	v := diagnosisView{r.Diagnoses[0], r}
	if got := v.Places()[0].Flame; got != record.ProfileMutex {
		t.Errorf("the lock is shown in %q", got)
	}
	found := v.Found()
	if found[0].Flame != record.ProfileMutex || found[1].Places[0].Flame != record.ProfileHeap || found[2].Flame != "" {
		t.Errorf("%+v", found)
	}
	v.Where = []diagnose.Place{{Function: "nowhere.F"}}
	if got := v.Places()[0].Flame; got != "" {
		t.Errorf("what is in no graph is linked to %q", got)
	}
	r.Flames = nil
	if got := (diagnosisView{r.Diagnoses[0], r}).Places()[0].Flame; got != "" {
		t.Errorf("without graphs there is a link to %q", got)
	}
}

// TestPausesAreAllCounted merges any histogram and holds that no pause is lost or shown shorter than it was.
func TestPausesAreAllCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMade(record.KindCapacity, "p99=60ms")
		m.variant("v", "", "", 1000)
		r := m.run(record.RoleSaturate, "v", 0, 900)
		var total int64
		longest := 0.0
		for range rapid.IntRange(1, 20).Draw(t, "buckets") {
			b := record.PauseBucket{UpToMs: rapid.Float64Range(0, 2e4).Draw(t, "ms"), Count: rapid.Int64Range(0, 1e6).Draw(t, "count")}
			if total += b.Count; b.Count > 0 {
				longest = max(longest, min(b.UpToMs, 10_000))
			}
			r.Totals.Server.GCPauses = append(r.Totals.Server.GCPauses, b)
		}
		r.Totals.Server.GCPauses = append(r.Totals.Server.GCPauses, record.PauseBucket{UpToMs: math.NaN()})
		all := m.report().Pauses
		if total == 0 {
			if len(all) != 0 {
				t.Fatal("no pauses, and a histogram")
			}
			return
		}
		p := all[0]
		if p.Count != total || float64(p.Longest()) < longest*(1-1e-6) || len(p.Bars) > 3*8 {
			t.Fatalf("%d of %d pauses, none over %v of %v, in %d bars", p.Count, total, p.Longest(), longest, len(p.Bars))
		}
		if svg := string(pausesSVG(p)); strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Fatalf("drawn as %s", svg)
		}
	})
}

func TestPauseWords(t *testing.T) {
	for step, want := range []string{"1 us", "2 us", "5 us", "10 us", "20 us", "50 us", "100 us", "200 us", "500 us", "1 ms", "2 ms", "5 ms"} {
		if got := figure.Pause(pauseBound(step)); got != want {
			t.Errorf("%d: %s, want %s", step, got, want)
		}
	}
	if got := figure.Pause(pauseBound(pauseStep(math.Inf(1)))); got != "10 s" {
		t.Errorf("the last bound is %s", got)
	}
}

// TestStagesAreOfTheTracedRun: no other run has any, and an invalid run shows none.
func TestStagesAreOfTheTracedRun(t *testing.T) {
	m := madeDiagnose()
	staged := m.report().Stages
	if len(staged) != 1 || len(staged[0].Rows) != 4 || !strings.HasPrefix(staged[0].Run, "notify, trace, ") {
		t.Errorf("%+v", staged)
	}
	for _, r := range m.Runs {
		if r.Step.Role == record.RoleTraced {
			r.Invalid = "the machine was busy"
		}
	}
	if staged := m.report().Stages; len(staged) != 0 {
		t.Errorf("of a run that does not count: %+v", staged)
	}
}

// TestNoCapacityWithoutASearch: a diagnosis without an SLO searches for none, and runs for the cause are no search.
func TestNoCapacityWithoutASearch(t *testing.T) {
	m := newMade(record.KindDiagnose, "p99=60ms")
	m.SLO = record.SLO{}
	m.variant("notify", "", "", 9800)
	m.cause("notify", "", 1)
	if r := m.report(); r.Capacity != nil || len(r.Steps) != 0 {
		t.Errorf("capacity %+v, steps %+v", r.Capacity, r.Steps)
	}
}

// TestUnknownIsNullInJSON: no rate is not a rate of 0, and no verdict bounds nothing.
func TestUnknownIsNullInJSON(t *testing.T) {
	read := func(r *Report) (got map[string]any) {
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	known, unknown := read(madeDiagnose().report()), read(undiagnosed().report())
	for _, key := range []string{"capacity_per_s", "peak_per_s"} {
		if v, there := unknown[key]; !there || v != nil {
			t.Errorf("an unknown %s is %v", key, v)
		}
		if _, number := known[key].(float64); !number {
			t.Errorf("a known %s is %v", key, known[key])
		}
	}
	m := madeWhy()
	m.diagnoses[1].Valid, m.diagnoses[1].CapacityPerS = false, 0
	ladder := read(m.report())
	steps := ladder["steps"].([]any)
	if bound := steps[0].(map[string]any)["bound_by"]; bound != "cpu" {
		t.Errorf("the baseline is bound by %v", bound)
	}
	if bound := steps[1].(map[string]any)["bound_by"]; bound != nil {
		t.Errorf("without a verdict, a step is bound by %v", bound)
	}
	if v := ladder["diagnoses"].([]any)[1].(map[string]any)["capacity_per_s"]; v != nil {
		t.Errorf("an unknown capacity of a step is %v", v)
	}
}

// TestRolesInWords: the list of runs says what a run is for.
func TestRolesInWords(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, madeDiagnose().report()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<td>search</td>", "<td>saturate</td>", "<td>trace</td>", "<td>change one thing</td>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no run is for %s", want)
		}
	}
}

// TestStagesStayInside: a stage is drawn within its transaction, whatever the spans said.
func TestStagesStayInside(t *testing.T) {
	rows := staged(&record.Experiment{Runs: []*record.Run{{Stages: []record.Stage{{Transaction: "t", Name: "t", Latency: record.Quantiles{Mean: 2}}, {Transaction: "t", Name: "late", Depth: 40, Latency: record.Quantiles{Mean: 9}, Self: -1}, {Transaction: "lost", Name: "child", Depth: 1}}}}})[0].Rows
	if svg := string(stageSVG(rows[1])); !strings.Contains(svg, `width="100.00%"/>`) || !strings.Contains(svg, `height="10" width="0.00%"`) || stageIndent(rows[1]) != "depth-6" {
		t.Errorf("%s %s", stageIndent(rows[1]), svg)
	}
	if svg := stageSVG(rows[2]); svg != "" {
		t.Errorf("of a transaction without a root: %s", svg)
	}
}

// TestPageCarriesNoIdleLibrary: a page without profiles does not pay for the flame graphs.
func TestPageCarriesNoIdleLibrary(t *testing.T) {
	size := func(r *Report) int {
		var b bytes.Buffer
		if err := HTML(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.Len()
	}
	with, r := size(madeDiagnose().report()), madeDiagnose().report()
	r.Flames = nil
	if without := size(r); with-without < len(flamer) || with-without > 120_000 {
		t.Errorf("the flame graphs add %d bytes to a page of %d", with-without, without)
	}
}
