package report

import (
	"testing"

	"dyno/lab/record"
)

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
		if got := answerWords(totals); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
