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
	for _, want := range []string{`class="dot measured worse"`, "0.50x", "bbbbbbbbbbbb", "change point"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if err := History(&b, nil); err != nil {
		t.Errorf("an empty history: %v", err)
	}
}
