package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/report"
	"dyno/lab/report/html"
	"dyno/lab/report/jsonv1"
	"dyno/lab/report/reporttest"
	"dyno/lab/report/text"
)

// players is a search in which 300 sessions met the SLO, and 320 did not.
func players(kind string) *record.Experiment {
	e := reporttest.New(kind, "p99=100ms,frames>=29.5").Experiment
	e.Variants, e.Runs, e.Order = []record.Variant{{Name: "arena"}}, nil, nil
	for i, n := range []int64{150, 300, 320, 320} {
		r := &record.Run{Version: record.Version, ID: fmt.Sprintf("%03d-search-arena", i+1), SLO: e.SLO, Length: 4 * time.Second,
			Spec: record.RunSpec{Role: record.RoleSearch, Variant: "arena", Connections: int(n)},
			Load: record.LoadInfo{Kind: record.KindSessions, Model: "open", Engine: "websocket", Connections: int(n), Schedule: "sessions"}}
		r.Totals = record.Totals{Offered: 120 * n, Ended: 120 * n, Completed: 120 * n, OfferedPerS: float64(30 * n), ThroughputPerS: float64(30 * n),
			Response: record.Quantiles{P50: 17, P99: 40}, Sessions: &record.Sessions{Planned: n, Opened: n, FramesMean: 30, FramesMin: 29.8, FramesP1: 29.9, BytesPerS: 3750, Opening: record.Quantiles{P50: 2, P99: 9}}}
		if n > 300 {
			s := r.Totals.Sessions
			s.Opened, s.Lost, s.FramesP1 = n-1, 2, 21
		}
		e.Runs, e.Order = append(e.Runs, r), append(e.Order, r.ID)
	}
	return e
}

func TestSessionsAreShown(t *testing.T) {
	r := report.Build(players(record.KindCapacity))
	if r.Answer != "notifyd carries about 300 sessions at p99 <= 100 ms (too few rounds for an interval)." || r.Scaling != nil || len(r.SessionRuns) != 4 || len(r.Curves) != 0 {
		t.Errorf("answer %q, %d rows, %d curves", r.Answer, len(r.SessionRuns), len(r.Curves))
	}
	var page, printed, marked, object bytes.Buffer
	for _, err := range []error{html.Page(&page, r), text.Terminal(&printed, r, text.Style{}), text.Markdown(&marked, r), jsonv1.Write(&object, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for form, out := range map[string]string{"page": page.String(), "terminal": printed.String(), "Markdown": marked.String()} {
		for _, want := range []string{"300", "29.9", "3,750", "unopened", "lost", "open p99 ms"} {
			if !strings.Contains(out, want) {
				t.Errorf("the %s lacks %q", form, want)
			}
		}
	}
	if !strings.Contains(printed.String(), "frames >= 29.5/s in 99% of the sessions") || !strings.Contains(object.String(), `"frames_per_s_p1": 29.9`) {
		t.Errorf("%s\n%s", printed.String(), object.String())
	}
}

func TestKnownNumbersAreAnswered(t *testing.T) {
	if got := report.Build(players(record.KindSweep)).Answer; got != "arena met the SLO with 300 sessions, the most of those tried." {
		t.Error(got)
	}
	one := report.Build(players(record.KindLoad))
	if want := "150 sessions, each with 30.0 frames/s (99% of them at least 29.9), 4,500/s of 4,500/s offered acknowledged, p99 40.0 ms, 0% failed: the SLO was met."; one.Answer != want {
		t.Error(one.Answer)
	}
}
