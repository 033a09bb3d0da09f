package format

import (
	"testing"

	"dyno/lab/compare"
	"dyno/lab/record"
)

// TestNotDecided: what was not shown is called not decided, with what would decide it.
func TestNotDecided(t *testing.T) {
	for _, c := range []struct {
		c    compare.Comparison
		want string
	}{
		{compare.Comparison{Ratio: 0.75, Samples: 3, Verdict: compare.NotDecided},
			"Not decided: capacity of v2 at 0.75x that of v1 so far, over 3 pairs of the 4 that an interval needs."},
		{compare.Comparison{Ratio: 1.03, Interval: &[2]float64{0.97, 1.10}, Samples: 8, Blocks: 40, Verdict: compare.NotDecided, TimeToDecide: "about 3 minutes more would decide 5%"},
			"Not decided: capacity of v2 at 1.03x that of v1 [0.97, 1.10] so far, over 40 blocks; about 3 minutes more would decide 5%."},
		{compare.Comparison{Ratio: 1.004, Interval: &[2]float64{0.99, 1.02}, Samples: 28, Verdict: compare.Equal}, "v1 and v2 are equal within 2%: capacity 1.00x [0.99, 1.02] over 28 pairs."},
		{compare.Comparison{Verdict: compare.NotDecided}, "Not decided: v1 and v2 have no capacity to compare yet."},
		{compare.Comparison{Verdict: compare.Invalid}, "v1 and v2 cannot be compared."},
		{compare.Comparison{Metric: compare.MetricCPU, Ratio: 0.9, Interval: &[2]float64{0.87, 0.93}, Samples: 8, Verdict: compare.Faster}, "v2 needs less CPU than v1: CPU per request 0.90x [0.87, 0.93] over 8 pairs."},
	} {
		c.c.A, c.c.B = "v1", "v2"
		if c.c.Metric == "" {
			c.c.Metric = compare.MetricCapacity
		}
		if got := Comparison(c.c, c.c.Blocks > 0); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestSubjects(t *testing.T) {
	for want, e := range map[string]record.Experiment{
		"127.0.0.1:8080/orders/7 (load)":                 {Kind: record.KindLoad, Name: "load", Service: "load", Command: []string{"dyno", "load", "http://127.0.0.1:8080/orders/7", "-r", "2000"}},
		"127.0.0.1:8080 (diagnosis)":                     {Kind: record.KindDiagnose, Name: "diagnose", Service: "diagnose", Command: []string{"dyno", "diagnose", "http://127.0.0.1:8080/", "--debug", "http://127.0.0.1:6060"}},
		"127.0.0.1:8080 and 127.0.0.1:8081 (comparison)": {Kind: record.KindCompare, Name: "compare", Service: "compare", Command: []string{"dyno", "compare", "http://127.0.0.1:8080/", "http://127.0.0.1:8081/"}},
		"notify (ladder)":                                {Kind: record.KindLadder, Name: "notify", Service: "notify", Scenario: "name: notify", Command: []string{"dyno", "run", "notify.yaml"}},
		"notifyd notify (ladder)":                        {Kind: record.KindLadder, Name: "notify", Service: "notifyd", Scenario: "name: notify"},
	} {
		if got := Title(&e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// An answer that was not accepted is named by its status.
func TestAnswersAreNamed(t *testing.T) {
	for want, totals := range map[string]record.Totals{
		"":                                    {},
		"5 x 200":                             {Status: map[string]int64{"200": 5}},
		"200 x 404 (not accepted)":            {Status: map[string]int64{"404": 200}, Errors: map[string]int64{"status": 200}},
		"1,000 x 200, 2 x 503 (not accepted)": {Status: map[string]int64{"200": 1000, "503": 2}, Errors: map[string]int64{"status": 2}},
		"3 x 200 (not accepted)":              {Status: map[string]int64{"200": 3}, Errors: map[string]int64{"status": 3}},
		"4 x 200, 1 x 202, 1 x 404":           {Status: map[string]int64{"200": 4, "202": 1, "404": 1}},
		"4 x 200, 1 x 202, 2 x 404, 4 of them not accepted": {Status: map[string]int64{"200": 4, "202": 1, "404": 2}, Errors: map[string]int64{"status": 4}},
	} {
		if got := Statuses(totals); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
