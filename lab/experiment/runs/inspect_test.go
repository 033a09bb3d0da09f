package runs

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/lab/record/folder"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// serve serves a handler on loopback until the test ends or stop is called.
func serve(t *testing.T, h http.Handler) (address string, stop func()) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, s.Close
}

// Another client takes a CPU profile of the target during an ordinary run: every reported latency
// leaves out exactly the windows in which the profile was taken.
func TestWindowsUnderAProfileAreLeftOut(t *testing.T) {
	t.Parallel()
	sc := running(t)
	var asking sync.WaitGroup
	defer asking.Wait()
	profile := sync.OnceFunc(func() {
		asking.Go(func() {
			resp, err := http.Get(sc.Target.Debug + "/debug/pprof/profile?seconds=1")
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
	})
	measured := 0
	b, exp := runnerOf(t, sc, func(w record.Window) {
		if w.Phase == record.PhaseMeasure {
			if measured++; measured == 3 {
				profile()
			}
		}
	})
	r, err := b.Run(t.Context(), record.RunSpec{Role: record.RoleSingle, Variant: sc.Name, Rate: 200, Length: 2 * time.Second}, exp)
	if err != nil {
		t.Fatal(err)
	}
	if r.Totals.Failed > 0 {
		t.Errorf("%d of %d requests failed: %v", r.Totals.Failed, r.Totals.Ended, r.Totals.Errors)
	}
	for _, w := range r.Series {
		live := w.Server != nil && w.Server.Profiling
		if live != (w.Phase == record.PhaseProfile) {
			t.Errorf("a window is in phase %q; a profile was running: %v", w.Phase, live)
		}
	}
	latencies := func(phases ...string) *hdrhistogram.Histogram {
		h, err := folder.Histogram(r, record.HistResponse, phases...)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h, under := latencies(), latencies(record.PhaseProfile).TotalCount()
	whole := latencies(record.PhaseMeasure, record.PhaseDrain, record.PhaseProfile).TotalCount()
	if n := h.TotalCount(); n == 0 || under == 0 || n+under != whole {
		t.Errorf("of %d latencies %d count and %d lie under the profile", whole, n, under)
	}
	if again, err := folder.OpenRun(r.Dir); err != nil || again.Totals.Response != record.QuantilesOf(h) || r.Totals.Response != again.Totals.Response {
		t.Errorf("the latency reported is %+v, that of the windows that count %+v (%v)", r.Totals.Response, record.QuantilesOf(h), err)
	}
	if r.Totals.Classes != nil {
		t.Errorf("latency by class cannot be separated by window: %v", r.Totals.Classes)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "a profile was taken of the target during") }) {
		t.Errorf("there is no warning: %q", r.Warnings)
	}
}
