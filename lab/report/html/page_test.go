package html

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/view"
)

// TestRolesInWords checks that the list of runs names the purpose of each run.
func TestRolesInWords(t *testing.T) {
	var b bytes.Buffer
	if err := Page(&b, reporttest.Diagnose().Report()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<td>search</td>", "<td>saturate</td>", "<td>trace</td>", "<td>change one thing</td>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no run is for %s", want)
		}
	}
}

// TestPageCarriesNoIdleLibrary checks that a page without profiles does not contain the flame
// graph library.
func TestPageCarriesNoIdleLibrary(t *testing.T) {
	size := func(r *report.Report) int {
		var b bytes.Buffer
		if err := Page(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.Len()
	}
	with, r := size(reporttest.Diagnose().Report()), reporttest.Diagnose().Report()
	r.Flames = nil
	if without := size(r); with-without < len(flamer) || with-without > 120_000 {
		t.Errorf("the flame graphs add %d bytes to a page of %d", with-without, without)
	}
}

// TestFlamesStaySmall checks that the page stays within its bounds, however many stacks there
// are, and says what was left out.
func TestFlamesStaySmall(t *testing.T) {
	m := reporttest.New(record.KindLadder, "p99=60ms")
	for _, name := range []string{"a", "b", "c", "d"} {
		m.AddVariant(name, "", "", 1000)
		r := m.AddRun(record.RoleProfile, name, 0, 900)
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
	f := m.Report().Flames
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
	if err := Page(&b, m.Report()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "Stacks below "+f.LeastText()+" of a graph") {
		t.Error("the page does not say what was summed up")
	}
}

// pageOf returns a report's page without its style, scripts and data.
func pageOf(t *testing.T, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, r); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?s)<style>.*?</style>|<script[^>]*>.*?</script>`).ReplaceAllString(b.String(), "")
}

// TestPageStructure checks of every page that its elements are closed, that its links have
// targets, that no id occurs twice, and that the answer and its certainty come first.
func TestPageStructure(t *testing.T) {
	reports := reporttest.Reports()
	reports["interrupted"] = reporttest.EndedEarly(record.OutcomeInterrupted, "a signal ended it").Report()
	reports["hostile"], reports["hostile-load"], reports["hostile-cause"] = reporttest.HostileReport(), reporttest.HostileLoad(), reporttest.HostileCause()
	for name, r := range reports {
		t.Run(name, func(t *testing.T) {
			page := pageOf(t, r)
			ids := map[string]bool{}
			for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
				if ids[m[1]] {
					t.Errorf("two elements have the id %q", m[1])
				}
				ids[m[1]] = true
			}
			for _, m := range regexp.MustCompile(` href="#([a-z-]*)"`).FindAllStringSubmatch(page, -1) {
				if !ids[m[1]] {
					t.Errorf("a link leads to #%s, which is not there", m[1])
				}
			}
			for _, tag := range []string{"section", "div", "details", "figure", "table", "ul", "dl", "svg"} {
				if opened, closed := len(regexp.MustCompile("<"+tag+"[ >]").FindAllString(page, -1)), strings.Count(page, "</"+tag+">"); opened != closed {
					t.Errorf("%d <%s> are opened, %d closed", opened, tag, closed)
				}
			}
			nav := strings.Index(page, "<nav")
			badge := strings.Index(page, `class="banner`)
			if nav < 0 || badge < 0 || badge > nav {
				t.Error("how the experiment ended does not stand at the top")
			}
			if at := strings.Index(page, `class="answer"`); (at < 0 || at > badge) != (r.Invalid != "") {
				t.Error("the answer does not stand at the top, or is given where there is none")
			}
			if folded := strings.Contains(page, `<details class="warnings">`); folded != (len(r.AllWarnings()) > 0) {
				t.Errorf("warnings are folded into one line: %v", folded)
			}
			if strings.Contains(page, "NaN") || strings.Contains(page, "ZgotmplZ") {
				t.Error("the page holds what is no figure")
			}
		})
	}
}

// TestPagesOfTurns checks what the pages of experiments in turns show.
func TestPagesOfTurns(t *testing.T) {
	for kind, want := range map[string]map[string]int{
		record.KindLadder:   {`class="plot small"`: 7, `class="bar"`: 7, "expected: ": 6, `class="strip"`: 0, `<polyline class="line capacity"`: 7, `class="band"`: 7},
		record.KindCompare:  {`class="plot small"`: 2, `class="strip"`: 5, "Block by block": 1, "twin over plain": 2},
		record.KindCapacity: {`class="plot"`: 1, "Rates tried": 1, `class="strip"`: 0, ">verdict<": 0},
	} {
		page := pageOf(t, reporttest.Turns(kind).Report())
		for part, n := range want {
			if got := strings.Count(page, part); got != n {
				t.Errorf("%s: %d times %s, want %d", kind, got, part, n)
			}
		}
	}
	r := reporttest.Turns(record.KindCompare).Report()
	if n := len(r.Ratios[1].Rows[0].Ratios); n != 23 { // one of 24 rounds has an invalid slice
		t.Errorf("%d blocks have a ratio", n)
	}
}

// TestLatencyFromProfilesIsNeverShown uses runs whose windows under profiles have an absurd
// latency.
func TestLatencyFromProfilesIsNeverShown(t *testing.T) {
	var b bytes.Buffer
	if err := Page(&b, reporttest.Ladder().Report()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "7777") {
		t.Error("the page holds a latency from a window in which a profile was taken")
	}
}

// TestPageStaysSmall checks that a page of 100 runs, each longer than a minute, stays below 3 MB.
func TestPageStaysSmall(t *testing.T) {
	m := reporttest.New(record.KindLadder, "p99=100ms")
	m.AddVariant("baseline", "", "", 3000)
	m.AddVariant("tuned", "", "", 6000)
	for i := range 100 {
		r := m.AddRun(record.RoleMeasure, m.Variants[i%2].Name, i/2+1, 2000)
		for len(r.Series) < 900 {
			r.Series = append(r.Series, r.Series[len(r.Series)%80])
		}
	}
	r := m.Report()
	var b bytes.Buffer
	if err := Page(&b, r); err != nil {
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
	m := reporttest.New(record.KindCapacity, "p99=100ms")
	m.AddVariant("only", "", "", 3000)
	for range 203 {
		r := m.AddRun(record.RoleSearch, "only", 0, 2000)
		r.Series = r.Series[:30]
	}
	r := m.Report()
	if len(r.Traces) != 200 || r.TracesLeft != 3 {
		t.Errorf("%d traces, %d left out", len(r.Traces), r.TracesLeft)
	}
	var b bytes.Buffer
	if err := Page(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "The series of 3 runs more are left out") {
		t.Error("the page does not say that series are left out")
	}
}

func TestLoadHasItsPercentileCurve(t *testing.T) {
	r := report.Build(reporttest.Load("open").Write(t))
	var names []string
	for _, tail := range r.Load.Tails {
		names = append(names, tail.Name)
		rising := slices.IsSortedFunc(tail.Points, func(a, b view.TailPoint) int {
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

func TestPanels(t *testing.T) {
	s := reporttest.Queues().Report().Sweep
	if len(s.Panels) != 2 || s.Panels[0].Name != "workers 1" || s.Panels[1].Name != "workers 8" {
		t.Fatalf("%d panels: %+v", len(s.Panels), s.Panels)
	}
	p := s.Panels[1]
	if len(p.Flows) != 5 || p.Flows[2].Name != "ring, buffer 1024" {
		t.Errorf("cells %d", len(p.Flows))
	}
	var page bytes.Buffer
	if err := Page(&page, reporttest.Queues().Report()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`id="chart-latency-1"`, "ring, buffer 1024", "Under a rising rate"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}

// Sessions that only receive have frames, and no latencies.
func TestPageOfSessionsThatOnlyReceive(t *testing.T) {
	var b strings.Builder
	if err := Page(&b, reporttest.Receiving().Report()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for text, want := range map[string]bool{"frames received 17,100": true, ">Frames</h2>": true, "Table of percentiles": false, "Send-lag": false, ">Latency</h2>": false} {
		if strings.Contains(page, text) != want {
			t.Errorf("%q is on the page: %v", text, !want)
		}
	}
}
