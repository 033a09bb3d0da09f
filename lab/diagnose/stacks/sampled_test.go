package stacks

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"dyno/lab/record"
)

// Stacks of pushgateway 1.11.0 under POST, shortened: its 32 requests wait for one goroutine, which
// waits for those that gather metrics for it. All of its own code is in the module cache.
const (
	pushing   = "runtime.gopark < runtime.chanrecv < runtime.chanrecv2 < github.com/prometheus/pushgateway/handler.Push.func1 < net/http.HandlerFunc.ServeHTTP < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve"
	reading   = "runtime.gopark < runtime.netpollblock < internal/poll.runtime_pollWait < internal/poll.(*FD).Read < net.(*conn).Read < net/http.(*connReader).Read < bufio.(*Reader).Peek < net/http.(*conn).serve"
	checking  = "runtime.gopark < runtime.selectgo < github.com/prometheus/client_golang/prometheus.(*Registry).Gather < github.com/prometheus/pushgateway/storage.(*DiskMetricStore).checkWriteRequest < github.com/prometheus/pushgateway/storage.(*DiskMetricStore).loop"
	storing   = "runtime.mapassign_faststr < github.com/prometheus/pushgateway/storage.(*DiskMetricStore).processWriteRequest < github.com/prometheus/pushgateway/storage.(*DiskMetricStore).loop"
	idling    = "runtime.gopark < runtime.selectgo < github.com/prometheus/pushgateway/storage.(*DiskMetricStore).loop"
	gathering = "strings.Index < github.com/prometheus/procfs.Proc.Netstat < github.com/prometheus/client_golang/prometheus.(*Registry).Gather.func1"
	quitting  = "runtime.gopark < runtime.selectgo < main.shutdownServerOnQuit"
	starting  = "runtime.gopark < sync.runtime_SemacquireWaitGroup < sync.(*WaitGroup).Wait < golang.org/x/sync/errgroup.(*Group).Wait < main.main < runtime.main"
	looking   = "runtime.goroutineProfileWithLabels < runtime/pprof.(*Profile).WriteTo < net/http/pprof.Index < main.handlePprof < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
)

// stood makes the sum of this number of goroutine profiles; each line is a count and a stack.
func stood(samples int, lines ...string) *record.Profile {
	p := &record.Profile{Type: record.ValueGoroutines, Samples: samples}
	for _, line := range lines {
		count, text, _ := strings.Cut(line, " ")
		n := 0.0
		fmt.Sscan(count, &n)
		s := record.Stack{Frames: frames(text), Value: n}
		for i, f := range s.Frames {
			s.Frames[i].File = "/home/me/go/pkg/mod/x@v1/x.go"
			s.Frames[i].Own = strings.HasPrefix(f.Function, "github.com/prometheus/pushgateway/") || strings.HasPrefix(f.Function, "main.")
		}
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

func TestRequestsBeforeOneGoroutine(t *testing.T) {
	trace, _ := Moments(stood(10, "310 "+pushing, "10 "+reading, "7 "+checking, "2 "+storing, "1 "+idling, "10 "+gathering, "10 "+quitting, "10 "+starting, "10 "+looking), nil)
	found := false
	for _, w := range trace.Waits {
		if KindOf(w) != WaitChannel {
			continue
		}
		found = true
		entry, ok := Entry(w.WokenBy)
		if !ok || entry.Function != "github.com/prometheus/pushgateway/storage.(*DiskMetricStore).loop" || w.Wakers != 1 {
			t.Errorf("they wait for %+v (%d)", w.WokenBy, w.Wakers)
		}
		if math.Abs(w.Seconds-31) > 1e-9 || math.Abs(w.WakerBusy-0.9) > 1e-9 {
			t.Errorf("%v requests wait for what is busy %v of the time", w.Seconds, w.WakerBusy)
		}
	}
	if !found {
		t.Errorf("no request waits: %+v", trace.Waits)
	}
}

func moments(lines ...string) *record.Trace {
	t, _ := Moments(stood(10, lines...), nil)
	return t
}

// If it is unknown for which goroutine the requests wait, the trace names none.
func TestNoOneGoroutine(t *testing.T) {
	other := strings.ReplaceAll(storing, "DiskMetricStore", "Reaper")
	for name, lines := range map[string][]string{
		"it is idle":          {"310 " + pushing, "9 " + idling, "1 " + storing},
		"two kinds work":      {"310 " + pushing, "10 " + storing, "10 " + other},
		"there are several":   {"310 " + pushing, "40 " + storing},
		"it reads its input":  {"310 " + pushing, "10 runtime.gopark < internal/poll.runtime_pollWait < internal/poll.(*FD).Read < os.(*File).Read < bufio.(*Scanner).Scan < main.commands"},
		"a library's works":   {"310 " + pushing, "10 " + gathering},
		"the main one waits":  {"310 " + pushing, "10 " + starting},
		"the observer's work": {"310 " + pushing, "10 " + looking},
	} {
		for _, w := range moments(lines...).Waits {
			if w.WokenBy != nil {
				t.Errorf("%s: %+v", name, w.WokenBy)
			}
		}
	}
}

// A run without an execution trace is read from its goroutine profiles, and one without either
// reports what was missing.
func TestTraceOfARun(t *testing.T) {
	r := &record.Run{Dir: t.TempDir(), FixtureProfiles: []*record.Profile{stood(10, "310 "+pushing)}}
	if got, err := Trace(r); err != nil || len(got.Waits) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	r.FixtureProfiles = nil
	if got, err := Trace(r); err == nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
	r.FixtureTrace = &record.Trace{Seconds: 0.5}
	if got, err := Trace(r); err != nil || got != r.FixtureTrace {
		t.Errorf("%+v, %v", got, err)
	}
}

// A wait that began before the trace counts where goroutines wait for the same.
func TestPlaced(t *testing.T) {
	at := func(functions ...string) (out []record.Frame) {
		for _, f := range functions {
			out = append(out, record.Frame{Function: f})
		}
		return out
	}
	serve, unlock := record.Frame{Function: "net/http.(*conn).serve"}, at("sync.(*RWMutex).Unlock", "main.write")
	known := record.Wait{Reason: "sync", Seconds: 2, Stack: at("sync.(*RWMutex).RLock", "main.read", "net/http.(*conn).serve"), Entry: serve, WokenBy: unlock}
	hidden, other := known, known
	hidden.Reason, hidden.Stack, hidden.Seconds = "", nil, 70
	other.Reason, other.Stack, other.WokenBy = "", nil, at("runtime.chansend1", "main.feed")
	of := &record.Trace{Waits: []record.Wait{hidden, other, known}}
	got := placed(of)
	if len(got.Waits[0].Stack) != 3 || got.Waits[0].Reason != "sync" || got.Waits[0].Seconds != 70 || len(got.Waits[1].Stack) != 0 || len(of.Waits[0].Stack) != 0 {
		t.Errorf("%+v", got.Waits)
	}
}

// A goroutine in a system call works as far as the CPU profile shows, or else waits.
func TestMomentsInSystemCalls(t *testing.T) {
	const (
		call    = "internal/runtime/syscall.Syscall6 < syscall.RawSyscall6 < syscall.Syscall6 < "
		polling = call + "golang.org/x/sys/unix.EpollWait < main.(*poller).wait < main.(*poller).run"
		sending = call + "syscall.sendto < main.(*sender).send < main.(*sender).run"
	)
	p := stood(10, "310 "+pushing, "10 "+polling, "8 "+sending, "2 main.encode < main.(*sender).run")
	cpu := &record.Profile{Type: record.ValueCPU, Seconds: 2, Stacks: []record.Stack{
		{Frames: frames(sending), Value: 1.2e9}, {Frames: frames("main.encode < main.(*sender).run"), Value: 0.4e9},
		{Frames: frames("runtime.mallocgc < main.(*poller).run"), Value: 0.1e9}}}
	for _, c := range []struct {
		cpu   *record.Profile
		works float64
		one   string // for which the requests wait
	}{{nil, 2, ""}, {cpu, 0.8, "main.(*sender).run"}} {
		got, works := Moments(p, c.cpu)
		if math.Abs(works-c.works) > 1e-9 {
			t.Errorf("%v work, want %v", works, c.works)
		}
		for _, w := range got.Waits {
			entry, _ := Entry(w.WokenBy)
			if KindOf(w) == WaitChannel && entry.Function != c.one {
				t.Errorf("requests wait for %q, want %q", entry.Function, c.one)
			}
			if w.Entry.Function == "main.(*poller).run" && (KindOf(w) != WaitBackground || math.Abs(w.Seconds-1) > 1e-9) {
				t.Errorf("%s %+v", KindOf(w), w)
			}
		}
	}
}
