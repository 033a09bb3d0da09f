package observe

import (
	"os"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
)

// The only trace of ten looks is one look.
func TestOneTraceOfTen(t *testing.T) {
	f := traced([]record.Group{alone("main.(*store).loop", 0.7, 0.3, 0)})
	f.Looks[0].Trace.Rest = 3
	for range 9 {
		f.Looks = append(f.Looks, Look{CPU: computing(0.1, "main.work")})
	}
	r := Of(f)
	found := find(t, r, KindGoroutine)
	if len(found) != 1 || found[0].Looks != 1 || found[0].Range() != "one look" || !strings.Contains(r.Summary, "(one look only, so no range)") || find(t, r, KindCPU)[0].Looks != 10 {
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
