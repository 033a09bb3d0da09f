package sections_test

import (
	"slices"
	"strings"
	"testing"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/report"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/sections"
)

// links returns the links in the blocks, in order.
func links(blocks []sections.Block) (out []string) {
	for _, b := range blocks {
		switch b := b.(type) {
		case sections.Group:
			out = append(out, links(b.Blocks)...)
		case sections.List:
			for _, item := range b.Items {
				for _, s := range item.Spans {
					if s.Link != "" {
						out = append(out, s.Link)
					}
				}
				out = append(out, links(item.Blocks)...)
			}
		}
	}
	return out
}

// TestLinksLeadToFrames checks that a place links to a flame graph that contains its function,
// and to no other.
func TestLinksLeadToFrames(t *testing.T) {
	of := func(r *report.Report) []string { return links(sections.Of(r, sections.Page)[0].Blocks) }
	r := reporttest.Diagnose().Report()
	const lock = "dyno%2Fparts%2Fqueue.%28%2ARing%29.Put"
	want := []string{
		"#flame=notify,mutex," + lock, "#flame=notify,mutex,", "#flame=notify,mutex," + lock,
		"#flame=notify,heap,", "#flame=notify,heap,encoding%2Fjson.%28%2AdecodeState%29.object",
	}
	if got := of(r); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	r.Diagnoses[0].Sites = []stacks.Site{{Function: "nowhere.F"}}
	if got := of(r); !slices.Equal(got, want[1:]) {
		t.Errorf("a place that is in no graph is linked: %q", got)
	}
	r.Flames = nil
	if got := of(r); len(got) > 0 {
		t.Errorf("without graphs there are links: %q", got)
	}
}

// TestOneOrder checks that the sections have the same order in every output, except for the
// changed functions, and that each has an id of its own.
func TestOneOrder(t *testing.T) {
	for name, r := range reporttest.Reports() {
		var page []string
		for _, s := range sections.Of(r, sections.Page) {
			if s.Title == "" || slices.Contains(page, s.ID) {
				t.Errorf("%s: section %q has no title, or an id that another has", name, s.ID)
			}
			page = append(page, s.ID)
		}
		for _, medium := range []sections.Medium{sections.Terminal, sections.Markdown} {
			var ids []string
			for _, s := range sections.Of(r, medium) {
				if s.ID != "changes" {
					ids = append(ids, s.ID)
				}
			}
			shown := slices.DeleteFunc(slices.Clone(page), func(id string) bool { return id == "changes" || !slices.Contains(ids, id) })
			if strings.Join(ids, " ") != strings.Join(shown, " ") {
				t.Errorf("%s: %v in text, %v on the page", name, ids, page)
			}
		}
	}
}
