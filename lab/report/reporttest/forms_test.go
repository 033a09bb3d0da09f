package reporttest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/lab/capacity"
	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/format"
	"dyno/lab/report/html"
	"dyno/lab/report/jsonv1"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/text"
)

func TestDatabases(t *testing.T) {
	r := reporttest.Database().Report()
	if len(r.Databases) != 3 || len(r.Databases[2].Remarks) != 0 {
		t.Fatalf("%+v", r.Databases)
	}
	d := r.Databases[1]
	if d.Name != "db" || d.WaitsPerS < 3999 || d.WaitsPerS > 4001 || d.PerRequest < 1.9 || d.PerRequest > 2.1 {
		t.Errorf("%+v", d)
	}
	all := strings.Join(d.Remarks, "\n")
	if len(d.Remarks) != 4 || !strings.Contains(all, "70%") || !strings.Contains(all, "90%") || !strings.Contains(all, "10% of the statements") || !strings.Contains(all, "wait for a free connection") {
		t.Errorf("remarks:\n%s", all)
	}
	var b bytes.Buffer
	if err := jsonv1.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	var told struct {
		Databases []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &told); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"name": "db", "connection_reuse": 0.7, "statement_cache_hits": 0.9, "statements_with_deadline": 0.9, "wait_mean_ms": 2.0, "connections_max": nil} {
		if got := told.Databases[1][key]; got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

// Without gauges there is no table, in no form.
func TestNoDatabase(t *testing.T) {
	r := reporttest.Load("open").Report()
	for name, write := range map[string]func(*bytes.Buffer) error{
		"html":     func(b *bytes.Buffer) error { return html.Page(b, r) },
		"markdown": func(b *bytes.Buffer) error { return text.Markdown(b, r) },
		"json":     func(b *bytes.Buffer) error { return jsonv1.Write(b, r) },
		"terminal": func(b *bytes.Buffer) error { return text.Terminal(b, r, text.Style{}) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.ToLower(b.String()), "database") {
			t.Errorf("%s speaks of a database", name)
		}
	}
}

// renderers are the forms of a report, by the ending of their golden file.
var renderers = map[string]func(io.Writer, *report.Report) error{
	".md":       text.Markdown,
	".json":     jsonv1.Write,
	".txt":      func(w io.Writer, r *report.Report) error { return text.Terminal(w, r, text.Style{}) },
	".ansi.txt": onTerminal,
}

func onTerminal(w io.Writer, r *report.Report) error {
	return text.Terminal(w, r, text.Style{Color: true, Width: 300})
}

// said is what every form of a report says.
func said(t *testing.T, r *report.Report) map[string]string {
	t.Helper()
	out := map[string]string{}
	var page bytes.Buffer
	if err := html.Page(&page, r); err != nil {
		t.Fatal(err)
	}
	out["page"] = page.String()[:strings.Index(page.String(), "<nav")]
	out["page"] = out["page"][strings.Index(out["page"], "<header"):]
	for ending, write := range renderers {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		out[ending] = b.String()
	}
	return out
}

// TestOneOutcome holds that every form of a report says of an experiment's end what the record
// says.
func TestOneOutcome(t *testing.T) {
	const reason = "the load generator was the limit in 31 of 40 slices"
	for _, status := range []string{record.OutcomeComplete, record.OutcomeInterrupted, record.OutcomeFailed, record.OutcomeInvalid} {
		m := reporttest.EndedEarly(status, reason)
		if status == record.OutcomeComplete {
			m.Outcome.Reason = ""
		}
		r := m.Report()
		if r.Outcome != *m.Outcome {
			t.Errorf("%s: the report's outcome is %+v", status, r.Outcome)
		}
		for form, text := range said(t, r) {
			lower := strings.ToLower(text)
			if status != record.OutcomeComplete && strings.Count(text, reason) < 1 {
				t.Errorf("%s, %s: the reason is not said", status, form)
			}
			if form != ".json" && status != record.OutcomeComplete && strings.Count(text, reason) > 1 {
				t.Errorf("%s, %s: the reason is said %d times", status, form, strings.Count(text, reason))
			}
			if status != record.OutcomeComplete && !strings.Contains(lower, status) {
				t.Errorf("%s, %s: the status is not said in\n%s", status, form, text)
			}
			if form != ".json" && strings.Contains(lower, "valid: ") && status != record.OutcomeInvalid || strings.Contains(text, ">Valid<") {
				t.Errorf("%s, %s: called valid in\n%s", status, form, text)
			}
			if measured := strings.Contains(text, "group carries 13,900/s"); measured == (status == record.OutcomeInvalid) && form != ".json" {
				t.Errorf("%s, %s: what was measured is shown: %v", status, form, measured)
			}
		}
		var b bytes.Buffer
		if err := jsonv1.Write(&b, r); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Valid   bool
			Reason  string
			Outcome record.Outcome
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Valid != (status == record.OutcomeComplete) || got.Reason != m.Outcome.Reason || got.Outcome != *m.Outcome {
			t.Errorf("%s: JSON says %+v", status, got)
		}
	}
}

// TestTooShortIsNotMissed: a run of too few completions shows neither that the SLO was met nor that
// it was missed.
func TestTooShortIsNotMissed(t *testing.T) {
	for _, v := range []capacity.Verdict{
		{TooShort: true, Inconclusive: "not judged: 604 of the 2000 completions that a verdict needs"},
		{TooShort: true, Inconclusive: "604 of the 2000 completions that a verdict needs"},
	} {
		m := reporttest.Load("open")
		a := m.Analysis()
		a.Verdicts[m.Runs[0].ID] = v
		for form, text := range said(t, report.Assemble(m.Experiment, a)) {
			if strings.Contains(text, "missed") || !strings.Contains(text, "604 of the 2000") && form != ".md" && form != ".json" {
				t.Errorf("%s: %s", form, text)
			}
			if form == ".json" && !strings.Contains(text, `"slo_met": null`) {
				t.Errorf("%s: %s", form, text)
			}
		}
	}
}

func TestHostileNamesAreInert(t *testing.T) {
	r := reporttest.HostileReport()
	for _, c := range []struct {
		*report.Report
		scripts int // the page's own
	}{{r, 3}, {reporttest.HostileLoad(), 3}, {reporttest.HostileCause(), 5}} {
		r := c.Report
		var page, md, js, plain, color bytes.Buffer
		for _, err := range []error{html.Page(&page, r), text.Markdown(&md, r), jsonv1.Write(&js, r), text.Terminal(&plain, r, text.Style{}), text.Terminal(&color, r, text.Style{Color: true, Width: 100})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(page.String(), "<img") {
			t.Error("the page holds the hostile tag")
		}
		if got := strings.Count(page.String(), "</script>"); got != c.scripts {
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

// TestEmptyExperiments: nothing measured is a report too.
func TestEmptyExperiments(t *testing.T) {
	for _, kind := range []string{record.KindLoad, record.KindCapacity, record.KindLadder, record.KindCompare, record.KindSweep, record.KindDiagnose, "unheard-of"} {
		r := report.Build(&record.Experiment{Kind: kind, Outcome: &record.Outcome{Status: record.OutcomeInvalid, Reason: "nothing was measured"}})
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

// Every form of the report shows the points and says what explains them.
func TestScalingInEveryForm(t *testing.T) {
	for _, e := range []*record.Experiment{reporttest.JobLadder(), reporttest.Spans()} {
		r := report.Build(e)
		var page, table, mark, object bytes.Buffer
		for form, err := range map[string]error{"page": html.Page(&page, r), "terminal": text.Terminal(&table, r, text.Style{}), "markdown": text.Markdown(&mark, r), "json": jsonv1.Write(&object, r)} {
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
		}
		for form, out := range map[string]string{"page": page.String(), "terminal": table.String(), "markdown": strings.ReplaceAll(mark.String(), "\\", "")} {
			if !strings.Contains(out, "explains the points best") || !strings.Contains(out, "concurrency") {
				t.Errorf("%s of %s does not say what explains the points:\n%.2000s", form, e.Kind, out)
			}
		}
		if !strings.Contains(page.String(), `class="line fit-roof"`) {
			t.Error("no curve is drawn")
		}
		var read struct {
			Scaling []struct {
				Points []struct {
					Concurrency int     `json:"concurrency"`
					PerS        float64 `json:"per_s"`
				} `json:"points"`
				Fits []struct {
					Model       string  `json:"model"`
					LeaveOneOut float64 `json:"leave_one_out"`
				} `json:"fits"`
			} `json:"scaling"`
		}
		if err := json.Unmarshal(object.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
		if len(read.Scaling) != 3 || len(read.Scaling[2].Points) < 5 || read.Scaling[2].Fits[0].LeaveOneOut <= 0 || read.Scaling[2].Points[0].PerS <= 0 {
			t.Errorf("%+v", read)
		}
	}
}

// TestNewFigure: a line in the table of figures is enough for a figure to be in every form.
func TestNewFigure(t *testing.T) {
	kept := report.Figures
	defer func() { report.Figures = kept }()
	report.Figures = append(slices.Clone(kept), report.Figure{Key: "gc_share", Name: "GC share", Unit: "of CPU", Short: "GC %", Write: format.Percent,
		Run: func(r *record.Run) float64 { return r.Totals.Server.GCShare }})
	m := reporttest.Ladder()
	for _, r := range m.Runs {
		r.Totals.Server.GCShare = 0.25
	}
	var page bytes.Buffer
	if err := html.Page(&page, m.Report()); err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{"page": page.String()}
	for ending, write := range renderers {
		var b bytes.Buffer
		if err := write(&b, m.Report()); err != nil {
			t.Fatal(err)
		}
		forms[ending] = b.String()
	}
	for form, want := range map[string][]string{
		"page": {"GC share<small>of CPU</small>", "25%"}, ".txt": {"GC %", "25%"}, ".md": {"GC share, of CPU", "25%"}, ".json": {`"gc_share": 0.25`},
	} {
		for _, part := range want {
			if n := strings.Count(forms[form], part); n == 0 {
				t.Errorf("%s does not hold %q", form, part)
			}
		}
	}
}
