package experiment

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// serve serves a handler on loopback until the test ends or stop is called.
func serve(t *testing.T, h http.Handler) (address string, stop func()) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL, s.Close
}

// says is a Progress that keeps what is said.
type says struct {
	silent
	said *[]string
}

func (s says) Say(text string) { *s.said = append(*s.said, text) }

// hasNoLatency fails the test if a run under profiles has a latency, in memory or on disk.
func hasNoLatency(t *testing.T, r *record.Run) {
	t.Helper()
	again, err := record.OpenRun(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*record.Run{r, again} {
		if none := (record.Quantiles{}); r.Totals.Response != none || r.Totals.Service != none || r.Totals.Delivery != none || len(r.Totals.Classes) > 0 {
			t.Errorf("%s has a latency from under profiles: %+v %+v %+v %v", r.ID, r.Totals.Response, r.Totals.Service, r.Totals.Delivery, r.Totals.Classes)
		}
		if len(r.Series) == 0 {
			t.Errorf("%s has no windows", r.ID)
		}
		for _, w := range r.Series {
			if w.Phase != record.PhaseProfile {
				t.Errorf("a window of %s is in phase %q", r.ID, w.Phase)
			}
		}
	}
}

// Another client takes a CPU profile of the target during an ordinary run: exactly the windows in
// which it ran are left out of every latency that is reported.
func TestWindowsUnderAProfileAreLeftOut(t *testing.T) {
	t.Parallel()
	sc := running(t, "agent")
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
	b, exp := runnerOf(t, sc, onWindow{call: func(w record.Window) {
		if w.Phase == record.PhaseMeasure {
			if measured++; measured == 3 {
				profile()
			}
		}
	}})
	r, err := b.run(t.Context(), record.Step{Role: record.RoleSingle, Variant: sc.Name, Rate: 200, Length: 2 * time.Second}, exp)
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
		h, err := r.Histogram(record.HistResponse, phases...)
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
	if again, err := record.OpenRun(r.Dir); err != nil || again.Totals.Response != record.QuantilesOf(h) || r.Totals.Response != again.Totals.Response {
		t.Errorf("the latency reported is %+v, that of the windows that count %+v (%v)", r.Totals.Response, record.QuantilesOf(h), err)
	}
	if r.Totals.Classes != nil {
		t.Errorf("latency by class cannot be separated by window: %v", r.Totals.Classes)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "a profile was taken of the target during") }) {
		t.Errorf("there is no warning: %q", r.Warnings)
	}
}

// A service that runs already is watched from outside by its process, which is looked up by its
// address.
func TestPIDOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the process that listens at an address is looked up in /proc")
	}
	url, stop := serve(t, http.NotFoundHandler())
	b := &runner{}
	if got := b.pidOf(url + "/path?x=1"); got != os.Getpid() {
		t.Errorf("%s is served by process %d, want %d", url, got, os.Getpid())
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if got := b.pidOf("http://localhost:" + port); got != os.Getpid() {
		t.Errorf("localhost:%s is served by process %d, want %d", port, got, os.Getpid())
	}
	stop()
	for _, absent := range []string{url, "http://192.0.2.1:80/", "::not a URL"} {
		if got := b.pidOf(absent); got != 0 {
			t.Errorf("%s is served by process %d", absent, got)
		}
	}
	b.PID = 42
	if got := b.pidOf(url); got != 42 {
		t.Errorf("the process that was named is 42, not %d", got)
	}
}
