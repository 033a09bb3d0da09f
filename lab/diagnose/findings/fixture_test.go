package findings

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// These functions build subjects from stacks written as text: the leaf first, "<" before each
// caller. Functions of package main have a file and a line: they are the service's own.

func frames(stack string) []record.Frame {
	var out []record.Frame
	for f := range strings.SplitSeq(stack, " < ") {
		frame := record.Frame{Function: f}
		if strings.HasPrefix(f, "main.") {
			frame.File, frame.Line = "/src/shop/main.go", 10+len(f)
		}
		out = append(out, frame)
	}
	return out
}

const handler = " < main.handle < net/http.HandlerFunc.ServeHTTP < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve"

// stacksOf is the content of a profile: for each stack, a value for each sample type.
type stacksOf map[string][]int64

// take writes a profile of two seconds and 2,000 requests into the run's folder, in the agent's
// format.
func take(t *testing.T, r *record.Run, kind string, types []string, of stacksOf) {
	t.Helper()
	p := &profile.Profile{}
	for _, name := range types {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: "count"})
	}
	functions := map[string]*profile.Location{}
	for text, values := range of {
		sample := &profile.Sample{Value: values}
		for _, f := range frames(text) {
			at, known := functions[f.Function]
			if !known {
				id := uint64(len(functions) + 1)
				fn := &profile.Function{ID: id, Name: f.Function, Filename: f.File}
				at = &profile.Location{ID: id, Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
				functions[f.Function] = at
				p.Function, p.Location = append(p.Function, fn), append(p.Location, at)
			}
			sample.Location = append(sample.Location, at)
		}
		p.Sample = append(p.Sample, sample)
	}
	var encoded bytes.Buffer
	if err := p.Write(&encoded); err != nil {
		t.Fatal(err)
	}
	file, err := folder.AddProfile(r.Dir, kind, encoded.Bytes(), 2)
	if err != nil {
		t.Fatal(err)
	}
	file.Requests = 2000
	r.Profiles = append(r.Profiles, file)
}

// second of CPU time, in the unit of a CPU profile.
const second = int64(time.Second)

// profiled returns a run of a closed loop of 10 clients at 1,000 requests/s.
func profiled(t *testing.T) *record.Run {
	t.Helper()
	return &record.Run{Dir: t.TempDir(), Spec: record.RunSpec{Role: record.RoleProfile, Connections: 10},
		Load: record.LoadInfo{Model: "closed", Connections: 10}, Totals: record.Totals{ThroughputPerS: 1000}}
}

func withCPU(t *testing.T, of stacksOf) Subject {
	t.Helper()
	r := profiled(t)
	take(t, r, record.ProfileCPU, []string{"samples", record.ValueCPU}, of)
	return Subject{Profiled: r}
}

// sampled returns the values of n seconds of CPU time: samples at 100 Hz, and ns.
func sampled(n float64) []int64 { return []int64{int64(n * 100), int64(n * float64(second))} }

// traced returns a subject whose profiled run has a trace of one second with these waits.
func traced(t *testing.T, waits ...record.Wait) Subject {
	t.Helper()
	r := profiled(t)
	r.FixtureTrace = &record.Trace{Seconds: 1, Procs: 2, Requests: 1000, Waits: waits}
	return Subject{Profiled: r}
}

// wait returns 1,000 waits at one stack, which take the given goroutine-seconds together and are
// ended at the stack wokenBy.
func wait(reason, stack string, seconds float64, wokenBy string) record.Wait {
	w := record.Wait{Reason: reason, Stack: frames(stack), Seconds: seconds, Count: 1000}
	w.Entry = w.Stack[len(w.Stack)-1]
	if wokenBy != "" {
		w.WokenBy, w.Wakers = frames(wokenBy), 1
	}
	return w
}

// series returns a run of n measured windows of 100 ms with 100 completed requests each.
func series(n int, server func(i int) *record.Server) *record.Run {
	r := &record.Run{Spec: record.RunSpec{Role: record.RoleMeasure}, Load: record.LoadInfo{Model: "open"},
		Length: time.Duration(n) * record.WindowLength, Machine: record.Machine{Cores: 2},
		Totals: record.Totals{OfferedPerS: 1000, ThroughputPerS: 1000, Response: record.Quantiles{Mean: 10, P99: 40}, Server: &record.ServerTotals{}}}
	for i := range n {
		r.Series = append(r.Series, record.Window{Start: int64(i) * int64(record.WindowLength), Phase: record.PhaseMeasure,
			Client: record.Client{Offered: 100, Ended: 100}, Server: server(i)})
	}
	return r
}

func others(runs ...*record.Run) Subject { return Subject{Other: runs} }

// of returns the finding of a kind.
func of(all []Finding, kind string) (Finding, bool) {
	for _, f := range all {
		if f.Kind == kind {
			return f, true
		}
	}
	return Finding{}, false
}

func kinds(all []Finding) string {
	var out []string
	for _, f := range all {
		out = append(out, f.Kind)
	}
	return strings.Join(out, " ")
}

func (f Finding) evidence(signal string) float64 {
	for _, e := range f.Evidence {
		if e.Signal == signal {
			return e.Value
		}
	}
	return -1
}
