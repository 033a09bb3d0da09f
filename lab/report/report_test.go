package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report/figure"

	"pgregory.net/rapid"
)

// drawWindows makes any series of windows that a producer could write.
func drawWindows(t *rapid.T) []record.Window {
	phases := []string{record.PhaseWarmup, record.PhaseMeasure, record.PhaseDrain, record.PhaseProfile}
	n := rapid.IntRange(1, 400).Draw(t, "windows")
	out := make([]record.Window, n)
	phase := 0
	for i := range out {
		if rapid.IntRange(0, 20).Draw(t, "turn") == 0 {
			phase = rapid.IntRange(0, 3).Draw(t, "phase")
		}
		out[i] = record.Window{Start: int64(i) * 1e8, Phase: phases[phase], Client: record.Client{
			Offered: rapid.Int64Range(0, 1000).Draw(t, "offered"), P99Ms: rapid.Float64Range(0, 5000).Draw(t, "p99"), Backlog: rapid.Int64Range(0, 9000).Draw(t, "backlog")}}
		if rapid.Bool().Draw(t, "seen") {
			out[i].Server = &record.Server{CPU: 1, Profiling: rapid.IntRange(0, 9).Draw(t, "profile") == 0}
		}
	}
	return out
}

// TestTracesKeepWhatMatters thins any series and holds that no stall is lost, that nothing from a profile
// is shown as latency, that offers are conserved and that the result is small.
func TestTracesKeepWhatMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		series := drawWindows(t)
		points := rapid.IntRange(1, 500).Draw(t, "points")
		tr := newTrace(&record.Run{Series: series}, points)

		turns, worst, backlog, offered := 0, 0.0, 0.0, 0.0
		for i, w := range series {
			if i > 0 && phaseOf(w) != phaseOf(series[i-1]) {
				turns++
			}
			backlog = max(backlog, float64(w.Client.Backlog))
			offered += float64(w.Client.Offered)
			if !profiled(w) {
				worst = max(worst, w.Client.P99Ms)
			}
		}
		if len(tr.T) > points+turns+1 {
			t.Fatalf("%d points from %d windows in %d phases, asked for %d", len(tr.T), len(series), turns+1, points)
		}
		if got := most(tr.Series["p99"]); got != worst {
			t.Fatalf("worst p99 is %v, was %v", got, worst)
		}
		if got := most(tr.Series["backlog"]); got != backlog {
			t.Fatalf("highest backlog is %v, was %v", got, backlog)
		}
		at, sum := 0, 0.0
		for i := range tr.T {
			n := 0
			for at+n < len(series) && (i+1 == len(tr.T) || float64(series[at+n].Start)/1e9 < tr.T[i+1]-1e-9) {
				if phaseOf(series[at+n]) != phaseOf(series[at]) {
					t.Fatalf("point %d mixes phases", i)
				}
				n++
			}
			if p99 := tr.Series["p99"]; p99 != nil && profiled(series[at]) && !math.IsNaN(p99[i]) {
				t.Fatalf("point %d shows latency from a profile", i)
			}
			if o := tr.Series["offered"]; o != nil {
				sum += o[i] * float64(n) / 10
			}
			at += n
		}
		if at != len(series) || math.Abs(sum-offered) > 1e-6*(1+offered) {
			t.Fatalf("%d of %d windows, %v of %v offers", at, len(series), sum, offered)
		}
	})
}

func most(c figure.Numbers) (most float64) {
	for _, v := range c {
		if !math.IsNaN(v) {
			most = max(most, v)
		}
	}
	return most
}

// TestLatencyFromProfilesIsNeverShown: the made-up runs carry an absurd latency in their profile windows.
func TestLatencyFromProfilesIsNeverShown(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, madeLadder().report()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "7777") {
		t.Error("the page holds a latency from a window in which a profile was taken")
	}
}

// TestPageStaysSmall: a page of 100 runs of a minute and more stays under 3 MB.
func TestPageStaysSmall(t *testing.T) {
	m := newMade(record.KindLadder, "p99=100ms")
	m.variant("baseline", "", "", 3000)
	m.variant("tuned", "", "", 6000)
	for i := range 100 {
		r := m.run(record.RoleMeasure, m.Variants[i%2].Name, i/2+1, 2000)
		for len(r.Series) < 900 {
			r.Series = append(r.Series, r.Series[len(r.Series)%80])
		}
	}
	r := m.report()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 3_000_000 {
		t.Errorf("the page has %d bytes", b.Len())
	}
	if len(r.Traces) != 100 || r.TracesLeft != 0 {
		t.Errorf("%d traces, %d left out", len(r.Traces), r.TracesLeft)
	}
}

func TestManyRunsAreThinnedAndSaid(t *testing.T) {
	m := newMade(record.KindCapacity, "p99=100ms")
	m.variant("only", "", "", 3000)
	for range 203 {
		r := m.run(record.RoleSearch, "only", 0, 2000)
		r.Series = r.Series[:30]
	}
	r := m.report()
	if len(r.Traces) != 200 || r.TracesLeft != 3 {
		t.Errorf("%d traces, %d left out", len(r.Traces), r.TracesLeft)
	}
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "The series of 3 runs more are left out") {
		t.Error("the page does not say that series are left out")
	}
}

// hostileReport has a hostile name wherever a name can come from outside.
func hostileReport() *Report {
	m := newMade(record.KindLadder, "p99=100ms")
	m.Name, m.Service, m.Scenario = hostile, hostile, "name: "+hostile
	m.Command = []string{"dyno", "run", hostile}
	m.Warnings = []string{hostile + "\x1b[31m\u202e"}
	m.Machine.CPU, m.Machine.Settings = hostile, map[string]string{hostile: hostile}
	m.variant("baseline", hostile, hostile, 3000, hostile)
	m.variant(hostile, hostile+"\x1b]0;owned\a", hostile, 4000)
	for _, v := range m.Variants {
		r := m.run(record.RoleMeasure, v.Name, 1, 2000)
		r.ID, r.Warnings = "001-"+v.Name, []string{hostile}
		r.Target.Assembly = json.RawMessage(`{"queue":"</script><img src=x onerror=alert(1)>"}`)
		for i := range r.Series {
			r.Series[i].Server.Gauges = map[string]float64{hostile: 1}
		}
	}
	m.Runs[1].Invalid = ""
	return m.report()
}

func TestHostileNamesAreInert(t *testing.T) {
	r := hostileReport()
	for _, c := range []struct {
		*Report
		scripts int // the page's own
	}{{r, 3}, {hostileLoad(), 3}, {hostileCause(), 5}} {
		r := c.Report
		var html, md, js, plain, color bytes.Buffer
		for _, err := range []error{HTML(&html, r), Markdown(&md, r), JSON(&js, r), Terminal(&plain, r, Style{}), Terminal(&color, r, Style{Color: true, Width: 100})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(html.String(), "<img") {
			t.Error("the page holds the hostile tag")
		}
		if got := strings.Count(html.String(), "</script>"); got != c.scripts {
			t.Errorf("the page ends %d scripts, want its own %d", got, c.scripts)
		}
		outside := regexp.MustCompile("`+[^`\n]*`+").ReplaceAllString(md.String(), "") // code is shown, not obeyed
		if strings.Contains(outside, "<img") || strings.ContainsAny(md.String(), "\x1b\a\u202e") {
			t.Errorf("the Markdown holds what it must not:\n%q", md.String())
		}
		if !json.Valid(js.Bytes()) {
			t.Errorf("not JSON: %s", js.Bytes())
		}
		if i := strings.IndexFunc(plain.String(), func(c rune) bool { return c != '\n' && (c < ' ' || c > '~') }); i >= 0 {
			t.Errorf("a pipe gets %q", plain.String()[i:min(len(plain.String()), i+20)])
		}
		without := regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(color.String(), "")
		if strings.ContainsAny(without, "\x1b\a\u202e") {
			t.Errorf("a terminal gets control characters: %q", without)
		}
	}
}

func hostileLoad() *Report {
	m := madeLoad("open")
	run := m.Runs[0]
	m.Name, run.Load.URL, run.Load.Engine, run.Load.Schedule = hostile, hostile, hostile, hostile
	run.Totals.Errors, run.Totals.Status = map[string]int64{hostile: 1}, map[string]int64{hostile + "\x1b[2J": 1}
	run.Totals.Classes = map[string]record.Quantiles{hostile: {P50: 1}}
	return m.report()
}

// TestBuildFromAFolder reads an experiment as a producer leaves it, with the real analyses.
func TestBuildFromAFolder(t *testing.T) {
	m := madeLadder()
	r := Build(m.write(t))
	if r.Invalid != "" {
		t.Fatalf("invalid: %s", r.Invalid)
	}
	if len(r.Steps) != 6 || len(r.Runs) != len(m.Runs) || len(r.Traces) != len(m.Runs) {
		t.Fatalf("%d steps, %d runs, %d traces", len(r.Steps), len(r.Runs), len(r.Traces))
	}
	for i, s := range r.Steps {
		truth := m.limits[s.Name]
		if !(math.Abs(float64(s.Capacity)-truth) < 0.15*truth) {
			t.Errorf("%s: capacity %v, made with %v", s.Name, s.Capacity, truth)
		}
		if i > 0 && !(math.Abs(float64(s.Ratio)-truth/m.limits["baseline"]) < 0.15*truth/m.limits["baseline"]) {
			t.Errorf("%s: ratio %v", s.Name, s.Ratio)
		}
		if slices.ContainsFunc(Figures, func(f Figure) bool { return !s.Figure(f.Key).Known() }) {
			t.Errorf("%s: its use of resources is not known: %+v", s.Name, s)
		}
	}
	if !strings.HasPrefix(r.Answer, "commit carries ") || !strings.HasSuffix(r.Answer, " the baseline.") {
		t.Errorf("answer: %s", r.Answer)
	}
	if r.Floor == nil || r.Floor.Lo > 1 || r.Floor.Hi < 1 {
		t.Errorf("the noise floor is %v", r.Floor)
	}
	if all, valid := r.Count(); all-valid != 1 {
		t.Errorf("%d of %d runs count", valid, all)
	}
}

func TestLoadHasItsPercentileCurve(t *testing.T) {
	r := Build(madeLoad("open").write(t))
	var names []string
	for _, tail := range r.Load.Tails {
		names = append(names, tail.Name)
		rising := slices.IsSortedFunc(tail.Points, func(a, b TailPoint) int {
			if a.Ms < b.Ms && a.Share > b.Share {
				return 1
			}
			return 0
		})
		if !rising || len(tail.Points) < 10 {
			t.Errorf("%s: %v", tail.Name, tail.Points)
		}
		for _, p := range tail.Points {
			if p.Share < 0 || p.Share >= 1 {
				t.Errorf("%s: a share of %v", tail.Name, p.Share)
			}
		}
	}
	if !slices.Equal(names, []string{record.HistResponse, record.HistService}) {
		t.Errorf("curves of %v", names)
	}
	svg := string(loadPlot(r.Load))
	if strings.Count(svg, "<polyline") != 2 || strings.Contains(svg, "NaN") {
		t.Errorf("drawn as %s", svg)
	}
}

// TestMissingLatenciesAreSaid: a folder without latency.hlog still gives a report.
func TestMissingLatenciesAreSaid(t *testing.T) {
	m := madeLoad("open")
	m.Runs[0].Dir = t.TempDir()
	r := m.report()
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "percentile curve is missing") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

// TestPlotsStayInside draws any figures and holds that everything lies on the plot.
func TestPlotsStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOf(rapid.Float64Range(-1e6, 1e9)).Draw(t, "xs")
		a := newAxis(rapid.Bool().Draw(t, "log"), xs...)
		for _, x := range append(xs, 0, math.SmallestNonzeroFloat64, math.MaxFloat64) {
			if p := a.percentOf(x); !(p >= 0 && p <= 100) {
				t.Fatalf("%v lies at %v%% of %+v", x, p, a)
			}
		}
		if n := len(a.ticks()); n > 12 {
			t.Fatalf("%d ticks on %+v", n, a)
		}
	})
}

func TestNarrowTerminalsKeepTheVerdict(t *testing.T) {
	for _, width := range []int{40, 60, 80, 100, 120, 200} {
		var b bytes.Buffer
		if err := Terminal(&b, madeLadder().report(), Style{Width: width, Color: true}); err != nil {
			t.Fatal(err)
		}
		plain := regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(b.String(), "")
		table := strings.Split(strings.Split(plain, "\n\n")[1], "\n")
		for _, line := range table {
			if n := len([]rune(line)); width >= 60 && n > width {
				t.Errorf("%d columns on a terminal of %d: %q", n, width, line)
			}
		}
		if !strings.Contains(table[0], "verdict") || !strings.Contains(table[0], "capacity") {
			t.Errorf("at %d columns the table is %q", width, table[0])
		}
	}
}

// TestAnswers holds that the sentence never claims more than was shown.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Report)
		want   string
	}{
		{"as it is", func(*Report) {}, "commit carries 12,400/s at delivery p99 <= 100 ms, 4.00x [3.84, 4.20] the baseline."},
		{"no interval", func(r *Report) { r.Steps[5].RatioInterval = nil }, "too few rounds for an interval"},
		{"interval over 1", func(r *Report) { r.Steps[5].RatioInterval = &figure.Interval{Lo: 0.9, Hi: 4.4} }, "the baseline (not decided)."},
		{"no baseline", func(r *Report) { r.Steps[5].Ratio = figure.Unknown }, "the baseline has no result"},
		{"baseline best", func(r *Report) { r.Steps[0].Capacity = 99999 }, "baseline carries 100,000/s at delivery p99 <= 100 ms; no later step does better."},
		{"p99", func(r *Report) { r.Metric = compare.MetricP99; r.Steps[3].Capacity = 12 }, "prepared has the lowest p99, 12.0 ms"},
		{"invalid", func(r *Report) { r.Invalid = "the machine was busy" }, "No result: the machine was busy."},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := madeLadder().report()
			c.change(r)
			if got := AnswerOf(r); !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestContract holds the documented keys of each schema.
func TestContract(t *testing.T) {
	common := map[string][]string{
		"load":         {"schema", "model", "engine", "url", "duration_s", "offered_per_s", "achieved_per_s", "sent", "completed", "unfinished", "errors", "status", "latency_ms", "service_ms", "send_lag_us", "generator", "warnings"},
		"capacity":     {"schema", "slo", "capacity_per_s", "interval", "steps", "valid", "reason", "warnings"},
		"compare":      {"schema", "metric", "a", "b", "ratio", "interval", "pairs", "floor", "verdict", "warnings"},
		"ladder":       {"schema", "out", "steps"},
		"sweep":        {"schema", "out", "steps", "sweep"},
		"diagnosis":    {"schema", "valid", "reason", "bound_by", "also", "where", "in_words", "evidence", "interventions", "findings", "capacity_per_s"},
		"ladder.steps": {"name", "change", "capacity_per_s", "interval", "p99_ms", "cpu_us_per_request", "allocs_per_request", "ratio_to_baseline", "ratio_interval"},
	}
	schemas := map[string]string{"load": "dyno.load/1", "capacity": "dyno.capacity/1", "compare": "dyno.comparison/1", "ladder": "dyno.run/1", "sweep": "dyno.run/1", "diagnose": "dyno.diagnosis/1", "diagnose-invalid": "dyno.diagnosis/1"}
	reports := madeReports()
	for name, schema := range schemas {
		var b bytes.Buffer
		if err := JSON(&b, reports[name]); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got["schema"] != schema {
			t.Errorf("%s: schema %v", name, got["schema"])
		}
		keys := common[name]
		if schema == SchemaDiagnosis {
			keys = common["diagnosis"]
		}
		for _, key := range keys {
			if v, ok := got[key]; !ok || schema == SchemaDiagnosis && v == nil && key != "capacity_per_s" { // which may be unknown
				t.Errorf("%s lacks %q", name, key)
			}
		}
		if name == "ladder" {
			step := got["steps"].([]any)[1].(map[string]any)
			for _, key := range common["ladder.steps"] {
				if _, ok := step[key]; !ok {
					t.Errorf("a step lacks %q", key)
				}
			}
		}
	}
}

// TestEmptyExperiments: nothing measured is a report too.
func TestEmptyExperiments(t *testing.T) {
	for _, kind := range []string{record.KindLoad, record.KindCapacity, record.KindLadder, record.KindCompare, record.KindSweep, record.KindDiagnose, "unheard-of"} {
		r := Build(&record.Experiment{Kind: kind})
		if r.Invalid == "" {
			t.Errorf("%s: nothing measured counts as valid", kind)
		}
		for ending, write := range renderers {
			var b bytes.Buffer
			if err := write(&b, r); err != nil || b.Len() == 0 {
				t.Errorf("%s%s: %v", kind, ending, err)
			}
			if !strings.Contains(b.String(), "nothing was measured") {
				t.Errorf("%s%s does not say why there is no result:\n%s", kind, ending, b.String())
			}
		}
	}
}

func ExampleMarkdown() {
	var b bytes.Buffer
	_ = Markdown(&b, madeCompare().report())
	fmt.Println(strings.SplitN(b.String(), "\n", 4)[2])
	// Output: tuned is faster than baseline: capacity 1.40x [1.34, 1.47] over 6 pairs.
}
