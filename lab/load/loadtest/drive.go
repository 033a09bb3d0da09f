package loadtest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// testTimeout is the time after which a drive counts as hung; no passing test reaches it.
const testTimeout = 60 * time.Second

// windows sums the windows of a drive, so that the sums can be compared with the drive's totals.
type windows struct{ sum record.Client }

func (w *windows) Window(win record.Window, _ map[string]*hdrhistogram.Histogram) error {
	w.sum.Offered += win.Client.Offered
	w.sum.Sent += win.Client.Sent
	w.sum.Ended += win.Client.Ended
	w.sum.Failed += win.Client.Failed
	w.sum.Backlog = win.Client.Backlog
	return nil
}

// burst is a plan of n requests that are all due when the run starts; it ends when all have
// ended.
func burst(n, connections int) load.Plan {
	at := make([]int64, n)
	return load.Plan{
		Schedule:    func() load.Schedule { return load.Times(at) },
		Connections: connections,
		Length:      record.WindowLength,
		Drain:       testTimeout,
		Timeout:     testTimeout,
	}
}

// drive runs the plan to its end and checks that its counts add up.
func drive(t *testing.T, ctx context.Context, p load.Plan, d load.Driver) record.Totals {
	t.Helper()
	if d.Engine() == "" {
		t.Error("the driver does not say which engine it is")
	}
	series := &windows{}
	totals, _, err := load.Run(ctx, p, d, series)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("drive: %v", err)
	}
	if totals.Offered != totals.Ended+totals.Unfinished {
		t.Errorf("offered %d, but completed %d and unfinished %d", totals.Offered, totals.Ended, totals.Unfinished)
	}
	failed := int64(0)
	for _, n := range totals.Errors {
		failed += n
	}
	if failed != totals.Failed {
		t.Errorf("failed %d, but the kinds of error add up to %d: %v", totals.Failed, failed, totals.Errors)
	}
	if totals.Sent > totals.Offered {
		t.Errorf("sent %d of %d offered", totals.Sent, totals.Offered)
	}
	if s := series.sum; s.Offered != totals.Offered || s.Sent != totals.Sent || s.Ended != totals.Ended || s.Failed != totals.Failed {
		t.Errorf("the windows add up to %+v, the totals to offered %d, sent %d, completed %d, failed %d", s, totals.Offered, totals.Sent, totals.Ended, totals.Failed)
	}
	if series.sum.Backlog != 0 {
		t.Errorf("the last window leaves a backlog of %d", series.sum.Backlog)
	}
	return totals
}

// outcomes counts how the requests ended: by status or, for those without one, by kind of
// failure.
func outcomes(t record.Totals) map[string]int64 {
	out := map[string]int64{}
	for status, n := range t.Status {
		out[status] += n
	}
	for kind, n := range t.Errors {
		if n > 0 && kind != "status" && kind != "check" { // those have a status
			out[kind] += n
		}
	}
	if t.Unfinished > 0 {
		out["unfinished"] = t.Unfinished
	}
	return out
}

// expect checks that every request ended in one of the expected ways.
func expect(t *testing.T, totals record.Totals, offered int, want ...string) {
	t.Helper()
	if totals.Offered != int64(offered) {
		t.Errorf("%d requests were reported, %d came due", totals.Offered, offered)
	}
	for outcome, n := range outcomes(totals) {
		if !slices.Contains(want, outcome) {
			t.Errorf("%d of %d requests ended as %s, want %v", n, offered, outcome, want)
		}
	}
}

func get() *corpus.Corpus {
	return &corpus.Corpus{Requests: []corpus.Request{{Method: http.MethodGet, Path: "/"}}, Classes: make([]corpus.Class, 1)}
}

// method is a corpus of one request without a body.
func method(name string) *corpus.Corpus {
	return &corpus.Corpus{Requests: []corpus.Request{{Method: name, Path: "/"}}, Classes: make([]corpus.Class, 1)}
}

// post is a corpus of one POST of size bytes.
func post(size int) *corpus.Corpus {
	body := make([]byte, size)
	for i := range body {
		body[i] = 'a' + byte(i%26)
	}
	return &corpus.Corpus{Requests: []corpus.Request{{Method: http.MethodPost, Path: "/", Body: body}}, Classes: make([]corpus.Class, 1)}
}

// checked is a corpus of one GET whose success is subject to a check.
func checked(c workload.Check) *corpus.Corpus {
	requests := get()
	requests.Classes[0].Check.Check = c
	return requests
}
