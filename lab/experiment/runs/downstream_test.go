package runs

import (
	"net/http"
	"net/http/pprof"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// withDownstream returns a runner that profiles a downstream.
func withDownstream(address string) *Runner {
	return &Runner{Generator: generator.New(&environment.Programs{Scenario: &scenario.Scenario{}}), Downstream: address}
}

// A downstream is profiled while the target is, into a folder of its own, and is read as the
// target is.
func TestDownstream(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	address, _ := serve(t, mux)
	b := withDownstream(strings.TrimPrefix(address, "http://"))
	if err := b.DownstreamAnswers(t.Context()); err != nil {
		t.Fatal(err)
	}
	build, _ := debug.ReadBuildInfo()
	r := &record.Run{Dir: t.TempDir(), Length: time.Second}
	r.Totals.ThroughputPerS = 100
	a, err := b.watchDownstream(t.Context(), 0, r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	var taking sync.WaitGroup
	a.begin(t.Context(), &taking)
	taking.Wait()
	if err := a.finish(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	below := r.OfDownstream()
	if below == nil || !below.Target.Pprof || below.Target.PID != os.Getpid() || below.Target.Module != build.Main.Path {
		t.Fatalf("%+v", r.Downstream)
	}
	if _, err := below.Profile(record.ProfileCPU, record.ValueCPU); err != nil {
		t.Error(err)
	}
	if _, err := below.Trace(); err != nil {
		t.Error(err)
	}
}

// Without --also nothing is done. If nothing answers at its address, the error names the address
// before anything is measured.
func TestNoDownstream(t *testing.T) {
	b := withDownstream("")
	a, err := b.watchDownstream(t.Context(), 0, t.TempDir())
	if a != nil || err != nil || b.DownstreamAnswers(t.Context()) != nil {
		t.Errorf("%+v, %v", a, err)
	}
	a.begin(t.Context(), nil)
	r := &record.Run{}
	if err := a.finish(t.Context(), r); err != nil || r.OfDownstream() != nil {
		t.Errorf("%+v, %v", r.Downstream, err)
	}
	a.close()
	address, stop := serve(t, http.NotFoundHandler())
	stop()
	b.Downstream = address
	if err := b.DownstreamAnswers(t.Context()); err == nil || !strings.Contains(err.Error(), "--also") {
		t.Errorf("%v", err)
	}
}
