package observe

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dyno/lab/record"
)

// at makes a stack, the leaf first: "a < b".
func at(stack string) (out []record.Frame) {
	for name := range strings.SplitSeq(stack, " < ") {
		f := record.Frame{Function: name, Line: 10, Own: strings.HasPrefix(name, "main.")}
		if f.Own {
			f.File = "/src/main.go"
		}
		out = append(out, f)
	}
	return out
}

func entry(stack string) record.Frame { all := at(stack); return all[len(all)-1] }

const (
	handler = " < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
	locking = "sync.(*Mutex).Lock < main.(*store).Put < main.serve" + handler
)

// wait is one place of waiting in a trace of a second.
func wait(reason, stack string, seconds float64, count int64, goroutines int) record.Wait {
	return record.Wait{Reason: reason, Stack: at(stack), Entry: entry(stack), Seconds: seconds, Count: count, Goroutines: goroutines, Any: min(1, seconds)}
}

func alone(function string, running, waiting, syscall float64) record.Group {
	return record.Group{Entry: entry(function), Goroutines: 1, Running: running, Waiting: waiting, Syscall: syscall}
}

// traced has three looks, which show the same.
func traced(groups []record.Group, waits ...record.Wait) Facts {
	look := Look{Trace: &record.Trace{Seconds: 1, Procs: 2, Groups: groups, Waits: waits}}
	return Facts{Planned: 3, Looks: []Look{look, look, look}}
}

func find(t *testing.T, r *Report, kind string) []Resource {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(r.Resources), func(o Resource) bool { return o.Kind != kind })
}

// A goroutine that is parked in one place for all of the time waits, and works for nothing.
func TestParkedGoroutinesAreNotBusy(t *testing.T) {
	for _, stack := range []string{
		"runtime.gopark < sync.runtime_SemacquireWaitGroup < sync.(*WaitGroup).Wait < main.main",
		"runtime.gopark < runtime.selectgo < main.main",
		"runtime.gopark < runtime.chanrecv1 < main.main",
		"os/signal.signal_recv < main.main",
		"runtime.gopark < internal/poll.runtime_pollWait < internal/poll.(*FD).Accept < net.(*netFD).accept < main.main",
		"syscall.Syscall6 < os.(*Process).Wait < main.main",
		"syscall.Syscall < syscall.read < os.(*File).Read < main.main",
	} {
		for _, reason := range []string{"", "sync", "system call", "network"} {
			w := wait(reason, stack, 1, 0, 1)
			syscall := 0.0
			if reason == "system call" {
				syscall = 1
			}
			r := Of(traced([]record.Group{alone("main.main", 0, 1-syscall, syscall)}, w))
			if found := find(t, r, KindGoroutine); len(found) > 0 {
				t.Errorf("%s (%q): %+v", stack, reason, found)
			}
		}
	}
}

// In profiles of the goroutines, too, one that is always in one place is not busy for sure.
func TestParkedInMoments(t *testing.T) {
	moments := func(stacks ...string) Facts {
		p := &record.Profile{Type: record.ValueGoroutines, Samples: 8}
		for _, s := range stacks {
			p.Stacks = append(p.Stacks, record.Stack{Frames: at(s), Value: 8 / float64(len(stacks))})
		}
		return Facts{Planned: 1, Looks: []Look{{Moments: p}}}
	}
	for stack, low := range map[string]float64{
		"runtime.gopark < sync.runtime_SemacquireWaitGroup < sync.(*WaitGroup).Wait < main.main < runtime.main":                           0,
		"runtime.gopark < runtime.selectgo < main.main < runtime.main":                                                                    0,
		"runtime.gopark < sync.runtime_SemacquireMutex < internal/sync.(*Mutex).lockSlow < sync.(*Mutex).Lock < main.main < runtime.main": 0,
		"syscall.Syscall6 < syscall.wait4 < os.(*Process).Wait < main.main < runtime.main":                                                0,
		"syscall.Syscall < syscall.read < internal/poll.(*FD).Read < os.(*File).Read < main.main < runtime.main":                          0,
		"syscall.Syscall < syscall.Fsync < internal/poll.(*FD).Fsync < os.(*File).Sync < main.main < runtime.main":                        1,
		"crypto/sha256.block < main.main < runtime.main":                                                                                  1,
		"crypto/sha256.block < main.(*store).loop < sync.(*WaitGroup).Go.func1":                                                           1,
		"crypto/sha256.block < main.(*store).loop < golang.org/x/sync/errgroup.(*Group).Go.func1":                                         1,
	} {
		r := Of(moments(stack))
		for _, o := range find(t, r, KindGoroutine) {
			if o.Low != low || o.Busy != nil && *o.Busy != low || o.Busy == nil && low > 0 || !strings.HasPrefix(o.Name, "main.") {
				t.Errorf("%s: %+v", stack, o)
			}
		}
		if low > 0 && len(find(t, r, KindGoroutine)) != 1 {
			t.Errorf("%s: %+v", stack, r.Resources)
		}
	}
	if found := find(t, Of(moments("runtime.gopark < runtime.selectgo < main.loop", "crypto/sha256.block < main.loop")), KindGoroutine); len(found) != 1 || *found[0].Busy != 0.5 {
		t.Errorf("%+v", found)
	}
}

// What a single goroutine waits for in the midst of its work counts, and what it waits for between
// does not.
func TestSingleGoroutines(t *testing.T) {
	const loop = "main.(*store).loop"
	for _, tt := range []struct {
		name, reason, stack string
		low, high           float64
	}{
		{"a file", "system call", "syscall.Fsync < os.(*File).Sync < " + loop, 0.8, 0.8},
		{"something to read", "system call", "syscall.read < internal/poll.(*FD).Read < os.(*File).Read < " + loop, 0.2, 0.8},
		{"a lock", "sync", "sync.(*Mutex).Lock < " + loop, 0.8, 0.8},
		{"a reply", "select", "runtime.selectgo < net/http.(*persistConn).roundTrip < net/http.(*Client).Do < " + loop, 0.2, 0.8},
		{"a message of a stream", "select", "runtime.selectgo < google.golang.org/grpc/internal/transport.(*recvBufferReader).readClient < google.golang.org/grpc.(*clientStream).RecvMsg < " + loop, 0.2, 0.8},
		{"a reply or a message", "network", "internal/poll.(*FD).Read < net.(*conn).Read < " + loop, 0.2, 0.8},
		{"goroutines that it started", "sync", "sync.runtime_SemacquireWaitGroup < sync.(*WaitGroup).Wait < golang.org/x/sync/errgroup.(*Group).Wait < " + loop, 0.2, 0.8},
		{"work", "chan receive", "runtime.chanrecv1 < " + loop, 0.2, 0.2},
		{"work or a stop", "select", "runtime.selectgo < " + loop, 0.2, 0.2},
		{"time", "sleep", "time.Sleep < " + loop, 0.2, 0.2},
	} {
		w := wait(tt.reason, tt.stack, 0.6, 60, 1)
		w.WokenBy = at("runtime.chansend1 < main.serve" + handler)
		found := find(t, Of(traced([]record.Group{alone(loop, 0.2, 0.8, 0)}, w)), KindGoroutine)
		if len(found) != 1 || math.Abs(found[0].Low-tt.low) > 1e-9 || math.Abs(found[0].High-tt.high) > 1e-9 {
			t.Errorf("%s: %+v", tt.name, found)
		}
	}
	// The share is not known, and the first line does not leave it out.
	w := wait("network", "internal/poll.(*FD).Read < net.(*conn).Read < "+loop, 0.95, 60, 1)
	f := traced([]record.Group{alone(loop, 0.01, 0.99, 0)}, w)
	f.Looks[0].CPU = &record.Profile{Seconds: 1, Stacks: []record.Stack{{Frames: at("main.work"), Value: 0.4e9}}}
	if r := Of(f); !strings.Contains(r.Summary, "the busiest of what is known is the CPU, 20% in use") ||
		!strings.Contains(r.Summary, "the single goroutine main.(*store).loop (main.go:10) (share not known, 1.0% to 96%)") || find(t, r, KindGoroutine)[0].Busy != nil {
		t.Error(r.Summary)
	}
	// One that a request started is alone with its function by chance.
	if found := find(t, Of(traced([]record.Group{alone(loop, 0.2, 0.1, 0)})), KindGoroutine); len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// A goroutine that serves some of the requests wakes up less often than they come; that is no
// evidence that it takes several together, and nothing says so.
func TestNoClaimOfBatches(t *testing.T) {
	const loop = "main.(*store).loop"
	f := traced([]record.Group{alone(loop, 0.3, 0.7, 0), {Entry: record.Frame{Function: "net/http.(*connReader).backgroundRead"}, Goroutines: 300, Started: 200}},
		wait("chan receive", "runtime.chanrecv1 < "+loop, 0.7, 20, 1))
	r := Of(f)
	if found := find(t, r, KindGoroutine); len(found) != 1 || *found[0].Busy != 0.3 {
		t.Errorf("%+v", found)
	}
	if r.Rate == nil || r.Rate.PerS != 200 {
		t.Errorf("%+v", r.Rate)
	}
	if text := fmt.Sprintf("%+v", r); strings.Contains(text, "batch") {
		t.Error(text)
	}
}

// What the kernel does for a process outside of its threads is in its CPU time, and not in a CPU profile.
func TestCPUOfAProxy(t *testing.T) {
	profile := &record.Profile{Type: record.ValueCPU, Seconds: 1, Stacks: []record.Stack{{Frames: at("syscall.Syscall < main.copy"), Value: 0.5e9}}}
	f := Facts{Looks: []Look{{CPU: profile, Trace: &record.Trace{Seconds: 1, Procs: 4}}}, Planned: 1}
	if c := Of(f).CPU; *c.Cores != 0.5 || !strings.Contains(c.Source, "CPU profile") {
		t.Errorf("%+v", c)
	}
	f.Readings = []Reading{
		{Process: &Point{0, 10}}, {Process: &Point{5, 16}}, {Process: &Point{6, 17.5}, Looking: true}, {Process: &Point{11, 23.5}}, {Process: &Point{12, 25}, Looking: true},
	}
	f.Seconds = 12
	r := Of(f)
	if *r.CPU.Cores != 1.2 || !strings.Contains(r.CPU.Source, "/proc") || *r.CPU.Profile != 0.5 || *r.Resources[0].Busy != 0.3 {
		t.Errorf("%+v, %+v", r.CPU, r.Resources[0])
	}
	// Looking cost 0.3 of a core for two seconds of twelve.
	if c := r.Cost; c.Cores == nil || math.Abs(*c.Cores-0.3) > 1e-9 || math.Abs(*c.Share-0.3*2/12/4) > 1e-9 || !strings.HasPrefix(c.How, "measured") {
		t.Errorf("%+v", c)
	}
	for i := range f.Readings {
		p := f.Readings[i].Process
		f.Readings[i].Process, f.Readings[i].Page = nil, ParsePage(fmt.Appendf(nil, "process_cpu_seconds_total %v\n", p.Value), p.At)
	}
	if c := Of(f).CPU; *c.Cores != 1.2 || !strings.Contains(c.Source, processSeconds) {
		t.Errorf("%+v", c)
	}
}

// What looking cost is not claimed where it was not measured.
func TestCostThatIsNotKnown(t *testing.T) {
	f := traced(nil)
	f.Fetched = 1000
	if c := Of(f).Cost; c.Cores != nil || !strings.HasPrefix(c.How, "not known") || c.Fetched != 1000 {
		t.Errorf("%+v", c)
	}
	f.Readings = []Reading{{Process: &Point{0, 1}}, {Process: &Point{1, 2}, Looking: true}}
	if c := Of(f).Cost; c.Cores != nil || !strings.HasPrefix(c.How, "not known") {
		t.Errorf("%+v", c)
	}
}

func TestAllocations(t *testing.T) {
	statistics := func(total float64, at float64) Reading {
		return Reading{Memory: ParseMemory(fmt.Appendf(nil, "heap profile: 1: 2 [3: 4] @ heap/1\n\n# runtime.MemStats\n# TotalAlloc = %.0f\n# HeapAlloc = 7\n# NumGC = 3\n", total), at)}
	}
	f := traced(nil)
	f.Readings = []Reading{statistics(1000, 0), statistics(51000, 10)}
	if m := Of(f).Memory; m.Allocated == nil || *m.Allocated != 5000 || *m.Heap != 7 {
		t.Errorf("%+v", m)
	}
	f.Readings = []Reading{statistics(1000, 0), statistics(1000, 0.5)} // too near
	if m := Of(f).Memory; m.Allocated != nil {
		t.Errorf("%v", *m.Allocated)
	}
	f.Readings = nil
	if m := Of(f).Memory; m.Allocated != nil {
		t.Errorf("%v", *m.Allocated)
	}
}

// The rate is the growth of the counter between the times of its own readings, and the counter is
// one of requests that the service gets.
func TestRate(t *testing.T) {
	pages := func(lines ...string) (out []Reading) {
		for i, at := range []float64{0.4, 10.4} {
			text := ""
			for _, l := range lines {
				name, values, _ := strings.Cut(l, " ")
				text += name + " " + strings.Fields(values)[i] + "\n"
			}
			out = append(out, Reading{Page: ParsePage([]byte(text), at)}, Reading{Process: &Point{at + 1, 0}})
		}
		return out
	}
	for _, tt := range []struct {
		name, counter string
		readings      []Reading
		given         float64
		want          float64
		source        string
	}{
		{"sum of labels", "", pages(`http_requests_total{code="200"} 100 1100`, `http_requests_total{code="500"} 0 100`), 0, 110, "http_requests_total"},
		{"not the client's", "", pages(`http_client_requests_total 0 90000`, `app_http_requests_total 100 1100`), 0, 100, "app_http_requests_total"},
		{"the server's", "", pages(`http_requests_total 0 500`, `http_server_request_duration_seconds_count 0 2000`), 0, 200, "http_server_request_duration_seconds_count of the page of metrics (others: http_requests_total; name one with --counter)"},
		{"only the client's", "", pages(`http_client_requests_total 0 90000`), 7, 7, "--rate"},
		{"named", "jobs_total", pages(`http_requests_total 0 500`, `jobs_total 0 30`), 0, 3, "the counter jobs_total"},
		{"a named series", `jobs_total{kind="a b"}`, []Reading{{Page: ParsePage([]byte(`jobs_total{kind="a b"} 1`), 0)}, {Page: ParsePage([]byte(`jobs_total{kind="a b"} 21`), 10)}}, 0, 2, "kind"},
		{"began again", "", pages(`http_requests_total 100 50`), 0, 0, ""},
	} {
		f := traced(nil)
		f.Readings, f.Counter, f.Rate = tt.readings, tt.counter, tt.given
		r := Of(f).Rate
		if tt.want == 0 {
			if r != nil {
				t.Errorf("%s: %+v", tt.name, r)
			}
			continue
		}
		if r == nil || math.Abs(r.PerS-tt.want) > 1e-9 || !strings.Contains(r.Source, tt.source) {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

// With nothing seen, nothing is claimed.
func TestNothing(t *testing.T) {
	r := Of(Facts{})
	if !strings.Contains(r.Summary, "not known") || r.Rate != nil || r.GC != nil || r.Memory.Allocated != nil || len(r.NotSeen) == 0 {
		t.Errorf("%+v", r)
	}
}

// The first line names the busiest, and what may be as busy.
func TestSummary(t *testing.T) {
	w := wait("sync", locking, 2, 100, 10)
	w.Any, w.WokenBy = 0.5, line(20, "sync.(*Mutex).Unlock < main.(*store).Put < main.serve"+handler)
	f := traced([]record.Group{alone("main.(*store).loop", 0.55, 0.45, 0)}, w)
	f.Looks[0].CPU = computing(0.6, "main.(*store).Put < main.serve"+handler)
	if s := Of(f).Summary; !strings.Contains(s, "the busiest is the lock in main.(*store).Put (main.go:10), held 60% of the time if it is one lock (50% to 77%; 3 looks)") ||
		!strings.Contains(s, "perhaps as busy: the single goroutine main.(*store).loop (main.go:10), busy 55% of the time (55%)") {
		t.Error(s)
	}
	w = wait("sync", locking, 0.01, 50, 2)
	w.WokenBy = line(20, "sync.(*Mutex).Unlock < main.(*store).compact < main.run")
	f = traced([]record.Group{alone("main.(*store).loop", 0.55, 0.45, 0)}, w)
	if s := Of(f).Summary; !strings.Contains(s, "the single goroutine main.(*store).loop") || strings.Contains(s, "lock") {
		t.Error("hardly anything waits for the lock:", s)
	}
	f = traced([]record.Group{alone("main.(*store).loop", 0.06, 0.94, 0)})
	f.Looks[0].CPU = &record.Profile{Seconds: 1, Stacks: []record.Stack{{Frames: at("main.work"), Value: 0.04e9}}}
	if s := Of(f).Summary; !strings.Contains(s, "the busiest is the single goroutine main.(*store).loop (main.go:10), busy 6.0% of the time (6.0%; 3 looks)") {
		t.Error(s)
	}
	if s := Of(traced(nil)).Summary; strings.Contains(s, "busiest is") {
		t.Error(s)
	}
}
