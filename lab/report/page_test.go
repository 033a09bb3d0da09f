package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"dyno/lab/record"
)

// pageOf is a report's page without its style, scripts and data.
func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?s)<style>.*?</style>|<script[^>]*>.*?</script>`).ReplaceAllString(b.String(), "")
}

// TestPageStructure holds of every page that its elements are closed, that its links lead somewhere, that no id stands twice,
// and that the answer and how sure it is come before everything else.
func TestPageStructure(t *testing.T) {
	reports := madeReports()
	reports["interrupted"] = endedEarly(record.OutcomeInterrupted, "a signal ended it").report()
	reports["hostile"], reports["hostile-load"], reports["hostile-cause"] = hostileReport(), hostileLoad(), hostileCause()
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

// TestPagesOfTurns holds what the pages of turns show.
func TestPagesOfTurns(t *testing.T) {
	for kind, want := range map[string]map[string]int{
		record.KindLadder:   {`class="plot small"`: 7, `class="bar"`: 7, "expected: ": 6, `class="strip"`: 0, `<polyline class="line capacity"`: 7, `class="band"`: 7},
		record.KindCompare:  {`class="plot small"`: 2, `class="strip"`: 5, "Block by block": 1, "twin over plain": 2},
		record.KindCapacity: {`class="plot"`: 1, "Rates tried": 1, `class="strip"`: 0, ">verdict<": 0},
	} {
		page := pageOf(t, madeTurns(kind).report())
		for part, n := range want {
			if got := strings.Count(page, part); got != n {
				t.Errorf("%s: %d times %s, want %d", kind, got, part, n)
			}
		}
	}
	r := madeTurns(record.KindCompare).report()
	if n := len(r.Ratios[1].Rows[0].Ratios); n != 23 { // one of 24 blocks has a slice that does not count
		t.Errorf("%d blocks have a ratio", n)
	}
}
