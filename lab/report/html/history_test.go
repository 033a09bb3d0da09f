package html

import (
	"bytes"
	"strings"
	"testing"

	"dyno/lab/report/history"
)

// The page shows what changed and has no script, whatever the commits are called.
func TestHistory(t *testing.T) {
	entry := func(hash, subject string, work, ratio float64, against string) history.Entry {
		return history.Entry{Schema: history.Schema, Name: "<script>alert(1)</script>", Revision: history.Commit{Hash: hash, Subject: subject}, Against: history.Commit{Hash: against},
			Before:  map[string]history.Figure{history.Work: {Value: work / ratio}},
			Figures: map[string]history.Figure{history.Work: {Value: work, Interval: &[2]float64{work * 0.9, work * 1.1}}},
			Ratios:  map[string]history.Ratio{history.Work: {Ratio: ratio, Interval: &[2]float64{ratio * 0.99, ratio * 1.01}}}}
	}
	var b bytes.Buffer
	if err := History(&b, []history.Entry{entry("aaaaaaaaaaaaaaaa", "<b>bold</b>", 1000, 1, "0"), entry("bbbbbbbbbbbbbbbb", "slow", 500, 0.5, "aaaaaaaaaaaaaaaa")}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, "<b>bold") {
		t.Error("a name became a part of the page")
	}
	for _, want := range []string{`class="dot measured worse"`, "0.50x", "bbbbbbbbbbbb", "change point",
		`<strong>Worse</strong> <a href="#worse-1">`, "work/s at bbbbbbbbbbbb (slow): worse 0.50x [0.50, 0.51], from 1,000 with aaaaaaaaaaaa to 500</a>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if err := History(&b, nil); err != nil {
		t.Errorf("an empty history: %v", err)
	}
}

// TestRegressionComesFirst: the program and the figure that became worse are in front of those that
// did not, and a figure that is better again is no regression.
func TestRegressionComesFirst(t *testing.T) {
	entry := func(name, hash, against string, ratios map[string]float64) history.Entry {
		e := history.Entry{Schema: history.Schema, Name: name, Revision: history.Commit{Hash: strings.Repeat(hash, 12)}, Against: history.Commit{Hash: strings.Repeat(against, 12)},
			Figures: map[string]history.Figure{}, Ratios: map[string]history.Ratio{}}
		for key, r := range ratios {
			e.Figures[key], e.Ratios[key] = history.Figure{Value: 100 * r}, history.Ratio{Ratio: r, Interval: &[2]float64{r * 0.99, r * 1.01}}
		}
		return e
	}
	var b bytes.Buffer
	err := History(&b, []history.Entry{
		entry("fine", "a", "0", map[string]float64{history.Work: 1}), entry("fine", "b", "a", map[string]float64{history.Work: 0.5}), entry("fine", "c", "b", map[string]float64{history.Work: 2}),
		entry("slow", "a", "0", map[string]float64{history.Work: 1, history.CPU: 1}), entry("slow", "b", "a", map[string]float64{history.Work: 1, history.CPU: 1.5}),
	})
	if err != nil {
		t.Fatal(err)
	}
	page := b.String()
	at := func(text string) int {
		i := strings.Index(page, text)
		if i < 0 {
			t.Errorf("the page lacks %s", text)
		}
		return i
	}
	if n := strings.Count(page, "<strong>Worse</strong>"); n != 1 {
		t.Errorf("%d regressions", n)
	}
	if at("<h2>slow</h2>") > at("<h2>fine</h2>") || at(`id="worse-1"`) > at("<h3>Peak work rate") {
		t.Errorf("the regression does not come first:\n%s", page)
	}
}
