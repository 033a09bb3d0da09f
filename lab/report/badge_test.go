package report_test

import (
	"testing"

	"dyno/lab/compare"
	"dyno/lab/record"
	"dyno/lab/report"
)

// A slower variant makes a comparison of several worse, and a slower last step a ladder, whatever
// else is missing.
func TestBadgeOfWorse(t *testing.T) {
	verdicts := func(kind string, of ...string) *report.Report {
		r := &report.Report{Kind: kind, Outcome: record.Outcome{Status: record.OutcomeComplete}, Steps: []report.VariantResult{{Name: "base"}}}
		for _, v := range of {
			r.Steps = append(r.Steps, report.VariantResult{Name: "x", BaseVerdict: v})
		}
		return r
	}
	single := verdicts(record.KindCompare, compare.Slower)
	single.Comparison = &compare.Comparison{Verdict: compare.Slower}
	for name, tt := range map[string]struct {
		of   *report.Report
		want string
	}{
		"two variants":                  {single, "worse"},
		"all of several slower":         {verdicts(record.KindCompare, compare.Slower, compare.Slower), "worse"},
		"one of several slower":         {verdicts(record.KindCompare, compare.Slower, compare.Faster), "worse"},
		"several, none slower":          {verdicts(record.KindCompare, compare.Equal, compare.Faster), "partial"},
		"the last step slower":          {verdicts(record.KindLadder, compare.Faster, compare.Slower), "worse"},
		"a step slower, and caught up":  {verdicts(record.KindLadder, compare.Slower, compare.Faster), "partial"},
		"a ladder without a comparison": {verdicts(record.KindLadder), "complete"},
	} {
		if got := tt.of.Badge(); got.Word != tt.want || (got.Tone == report.Bad) != (tt.want == "worse") {
			t.Errorf("%s: %+v, want %s", name, got, tt.want)
		}
	}
}
