package observe

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
)

// One look is sure of what it shows only as far as it has waits to count.
func TestOneLook(t *testing.T) {
	w := wait("sync", locking, 0.4, 25, 10)
	w.WokenBy = line(20, "sync.(*Mutex).Unlock < main.(*store).Put < main.serve"+handler)
	f := traced(nil, w)
	f.Looks = f.Looks[:1]
	if found := find(t, Of(f), KindLock); len(found) != 1 || math.Abs(found[0].High-steady(0.56)) > 1e-9 {
		t.Errorf("%+v", found)
	}
	f = traced([]record.Group{alone("main.(*store).loop", 0.4, 0.6, 0)}, wait("chan receive", "runtime.chanrecv1 < main.(*store).loop", 0.6, 25, 1))
	f.Looks = f.Looks[:1]
	if found := find(t, Of(f), KindGoroutine); len(found) != 1 || math.Abs(found[0].Low-0.24) > 1e-9 || math.Abs(found[0].High-0.56) > 1e-9 {
		t.Errorf("%+v", found)
	}
}

// The only trace of ten looks is one look.
func TestOneTraceOfTen(t *testing.T) {
	f := traced([]record.Group{alone("main.(*store).loop", 0.7, 0.3, 0)})
	f.Looks = f.Looks[:1]
	f.Looks[0].Trace.Rest = 3
	for range 9 {
		f.Looks = append(f.Looks, Look{CPU: computing(0.1, "main.work")})
	}
	r := Of(f)
	found := find(t, r, KindGoroutine)
	if len(found) != 1 || found[0].Looks != 1 || found[0].Range() != "" || !strings.Contains(r.Summary, "(one look only, so no range)") || find(t, r, KindCPU)[0].Looks != 10 {
		t.Errorf("%s: %+v", r.Summary, r.Resources)
	}
	if !slices.Contains(r.NotSeen, "3.0 goroutines that wait, on average, beyond the places with the longest waits in each trace") {
		t.Error(r.NotSeen)
	}
}

// Nothing is read from a run's folder that happens to be the working directory.
func TestNoFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("profiles", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record.TraceFile, []byte(`{"seconds":1,"procs":4,"groups":[{"entry":{"function":"main.stale"},"goroutines":1,"running_s":0.99}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &record.Profile{Type: record.ValueGoroutines, Samples: 8, Stacks: []record.Stack{{Frames: at("runtime.gopark < runtime.chanrecv1 < main.x"), Value: 8}}}
	if found := find(t, Of(Facts{Planned: 1, Looks: []Look{{Moments: p}}}), KindGoroutine); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// A semaphore that one look shows as such is one in the others too.
func TestOneSemaphoreOfAllLooks(t *testing.T) {
	waits := func(seconds float64, wokenBy string) Look {
		w := wait("chan send", "runtime.chansend1 < main.serve"+handler, seconds, 25, 10)
		if w.Count = 0; wokenBy != "" {
			w.Count, w.WokenBy = 25, line(20, wokenBy+handler)
		}
		return Look{Trace: &record.Trace{Seconds: 1, Procs: 2, Waits: []record.Wait{w}}}
	}
	r := Of(Facts{Planned: 2, Looks: []Look{waits(3, ""), waits(2, "runtime.chanrecv1 < main.serve.func1 < main.serve")}})
	if found := find(t, r, KindPool); len(found) != 1 || found[0].Waiting != 2.5 || len(find(t, r, KindWait)) > 0 {
		t.Errorf("%+v", r.Resources)
	}
}
