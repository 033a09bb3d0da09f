package windows

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/record"
)

// steadyPlan has a warm-up of two windows and three measured windows.
var steadyPlan = load.Plan{Warmup: 2 * record.WindowLength, Length: 3 * record.WindowLength, Connections: 4}

// readSteady drives a stream, given as text, by the plan's own times.
func readSteady(text string) *run { return readSteadyFrom(0, text) }

// readSteadyFrom begins to read in a given window, when all of the text is available.
func readSteadyFrom(k int64, text string) *run {
	d := NewSteady("fake", strings.NewReader(text))
	now := began + k*windowLength + windowLength/2
	d.now = func() int64 {
		before := now
		now = began + 100*windowLength
		return before
	}
	return drive(context.Background(), steadyPlan, d, nil)
}

// units returns a window in which n units of 1 ms each were done, and more began than ended.
func units(t *testing.T, k int, phase, tag string, n int64) string {
	h := encoded(t, record.NewHistogram(), n)
	return at(k, phase, fmt.Sprintf(`,"client":{"offered":%d,"sent":%d,"completed":%d,"backlog":4},"hists":{%q:%q,"service":%q}`, n+1, n+1, n, tag, h, h))
}

func TestSteadyTimesAreThePlans(t *testing.T) {
	var text strings.Builder
	for k := range 9 { // the job knows of no warm-up, and goes on beyond the measured time
		text.WriteString(units(t, k, "measure", "response.ok", int64(10*(k+1))))
	}
	r := readSteady(text.String()) // and has no last line
	if r.err != nil {
		t.Fatal(r.err)
	}
	got := r.totals
	if want := int64(30 + 40 + 50); got.Completed != want || got.Offered != want || got.Unfinished != 0 || got.ThroughputPerS != 400 {
		t.Errorf("totals %s", pretty(got))
	}
	if from := (r.plan.MeasureFrom() - began) / windowLength; from != 2 || r.plan.Length != 3*record.WindowLength {
		t.Errorf("measured from window %d for %v", from, r.plan.Length)
	}
	if last := r.sink.all[len(r.sink.all)-1]; last != began+4*windowLength {
		t.Errorf("windows go on to %d, want up to 4", (last-began)/windowLength)
	}
	if got.Response.P50 == 0 || got.Service.P50 == 0 {
		t.Errorf("no latency: %s", pretty(got))
	}
}

// A job whose first windows began before the lab was ready has a longer warm-up.
func TestSteadyBeginsWhenTheLabIsReady(t *testing.T) {
	var text strings.Builder
	for k := range 12 {
		text.WriteString(units(t, k, "measure", "response.ok", int64(10*(k+1))))
	}
	r := readSteadyFrom(4, text.String())
	if from := (r.plan.MeasureFrom() - began) / windowLength; r.err != nil || from != 6 || r.totals.Completed != 70+80+90 || r.plan.Length != 3*record.WindowLength {
		t.Errorf("measured from window %d for %v, %v: %s", from, r.plan.Length, r.err, pretty(r.totals))
	}
}

func TestSteadyCountsWhatTheJobCallsWarm(t *testing.T) {
	var text strings.Builder
	for k := range 5 {
		text.WriteString(units(t, k, "warmup", "warmup.ok", 10))
	}
	if r := readSteady(text.String()); r.err != nil || r.totals.Completed != 30 || r.totals.Response.P50 == 0 {
		t.Errorf("%v: totals %s", r.err, pretty(r.totals))
	}
}

func TestSteadyWorkThatIsDoneTooSoon(t *testing.T) {
	for name, text := range map[string]string{
		"in the measured time": at(0, "measure", "") + at(3, "measure", "") + end,
		"in the warm-up":       at(0, "warmup", "") + end,
	} {
		r := readSteady(text)
		if r.err == nil || !strings.Contains(r.err.Error(), "give it more to do") {
			t.Errorf("%s: %v", name, r.err)
		}
	}
	if r := readSteady(at(0, "measure", "") + at(3, "measure", "") + end); !strings.Contains(r.err.Error(), (400 * time.Millisecond).String()) {
		t.Errorf("it does not say how long the work was: %v", r.err)
	}
	if r := readSteady(at(0, "measure", "")); r.err == nil || !strings.Contains(r.err.Error(), "the command ended before its work did") {
		t.Errorf("a job that was killed: %v", r.err)
	}
}

// A job may leave out an empty window, even the last one that counts.
func TestSteadyGaps(t *testing.T) {
	r := readSteady(units(t, 0, "measure", "response.ok", 5) + units(t, 3, "measure", "response.ok", 5) + units(t, 7, "measure", "response.ok", 5))
	if r.err != nil || r.totals.Completed != 5 || r.plan.Length != 3*record.WindowLength {
		t.Errorf("%v over %v: totals %s", r.err, r.plan.Length, pretty(r.totals))
	}
}

// Whatever a job prints, a steady run measures no more windows than planned.
func FuzzSteady(f *testing.F) {
	one := encoded(f, record.NewHistogram(), 1)
	f.Add(measure("") + at(2, "measure", `,"client":{"offered":2,"completed":1},"hists":{"response.ok":"`+one+`"}`) + at(9, "drain", ""))
	f.Add(at(1, "warmup", `,"client":{"completed":2,"failed":1},"hists":{"warmup.503":"`+one+`","response.503":"`+one+`"}`) + end)
	f.Fuzz(func(t *testing.T, stream string) {
		r := readSteady(stream)
		if r.plan.Length > steadyPlan.Length && r.err == nil {
			t.Errorf("measured for %v", r.plan.Length)
		}
		if r.err == nil && r.totals.Offered < r.totals.Ended {
			t.Errorf("totals %s", pretty(r.totals))
		}
	})
}
