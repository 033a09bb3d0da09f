package record

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Trace is the summary of a short execution trace: where goroutines spent their time. The trace
// itself is large and is not kept.
type Trace struct {
	Seconds    float64 `json:"seconds"` // length of the trace, s
	Procs      int     `json:"procs"`   // GOMAXPROCS
	Requests   float64 `json:"requests,omitempty"`
	Goroutines int     `json:"goroutines"` // goroutines seen

	// Goroutine-seconds, over all goroutines.
	Running  float64 `json:"running_s"`
	Runnable float64 `json:"runnable_s"` // ready, but no processor was free
	Syscall  float64 `json:"syscall_s"`  // blocked in a system call, without a processor

	GCStopped float64 `json:"gc_stopped_s"` // stop-the-world time, s
	GCRunning float64 `json:"gc_running_s"` // time in which a GC cycle was in progress, s

	// Groups are the goroutines by the function they were started with, longest running first.
	Groups []Group `json:"groups,omitempty"`
	// Waits are the places where goroutines waited, longest first; places beyond a fixed number
	// are summed in Rest.
	Waits []Wait  `json:"waits,omitempty"`
	Rest  float64 `json:"rest_s,omitempty"`
	// Busiest is the goroutine that ran most: one that runs nearly all the time is a serial part.
	Busiest *Busiest `json:"busiest,omitempty"`
}

// Group sums all goroutines that were started with the same function.
type Group struct {
	Entry      Frame   `json:"entry"`
	Goroutines int     `json:"goroutines"`
	Started    int     `json:"started,omitempty"` // of them, within the trace
	Running    float64 `json:"running_s"`         // goroutine-seconds, as are the fields below
	Runnable   float64 `json:"runnable_s"`
	Waiting    float64 `json:"waiting_s"`
	Syscall    float64 `json:"syscall_s"`
}

// Wait is one place at which goroutines waited.
type Wait struct {
	Reason     string  `json:"reason"` // the runtime's name, such as sync, chan receive, network; empty: it waited throughout
	Stack      []Frame `json:"stack"`  // the leaf first
	Entry      Frame   `json:"entry"`  // the function that the goroutines were started with
	Seconds    float64 `json:"seconds"`
	Count      int64   `json:"count"`      // waits that ended within the trace
	Goroutines int     `json:"goroutines"` // distinct ones
	// Any is the time in which at least one goroutine waited here, s; 0: not known. Of waits with what
	// Synchronises, waits elsewhere in the function that called it, for the same kind of thing, count.
	Any float64 `json:"any_s,omitempty"`
	// WokenBy is the stack of the goroutine that ended most of these waits; nil: the runtime
	// ended them.
	WokenBy []Frame `json:"woken_by,omitempty"`
	Wakers  int     `json:"wakers,omitempty"` // distinct goroutines that ended them
	// WakerBusy is the share of time that the goroutine which ended most of these waits was
	// running, in a system call or ready to run, and WakerReady the part of it in which it was
	// ready and had no processor; 0: the runtime ended them.
	WakerBusy  float64 `json:"waker_busy,omitempty"`
	WakerReady float64 `json:"waker_ready,omitempty"`
}

// Synchronises reports whether a function belongs to what goroutines wait with: the runtime, package
// sync, or semaphores of libraries. A wait below it is one of its caller.
func Synchronises(function string) bool {
	return slices.ContainsFunc([]string{"runtime.", "sync.", "internal/sync.", "golang.org/x/sync/", "github.com/jackc/puddle/"},
		func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// Starts reports whether a function runs a function of its caller in a goroutine. Such a goroutine
// has the name of that function.
func Starts(outermost string) bool {
	return slices.Contains([]string{"sync.(*WaitGroup).Go.func1", "golang.org/x/sync/errgroup.(*Group).Go.func1",
		"golang.org/x/sync/errgroup.(*Group).TryGo.func1"}, outermost)
}

// Busiest is one goroutine.
type Busiest struct {
	Entry   Frame   `json:"entry"`
	Running float64 `json:"running"` // share of the trace's time; time in a system call counts as running
	Stack   []Frame `json:"stack,omitempty"`
}

// TraceFile is the file of a trace's summary in a run's folder.
const TraceFile = "profiles/trace.json"

// Trace returns the summary of the execution trace that was taken in the run.
func (r *Run) Trace() (*Trace, error) {
	if r.FixtureTrace != nil {
		return r.FixtureTrace, nil
	}
	file := filepath.Join(r.Dir, filepath.FromSlash(TraceFile))
	encoded, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t := &Trace{}
	if err := json.Unmarshal(encoded, t); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, w := range t.Waits {
		r.own(w.Stack)
		r.own(w.WokenBy)
	}
	return t, nil
}

// Stage is the latency of one span within the requests of a run, from distributed tracing.
type Stage struct {
	Transaction string    `json:"transaction"` // the name of the root span
	Name        string    `json:"name"`        // the name of the span
	Depth       int       `json:"depth"`       // 0: the root
	Count       int64     `json:"count"`
	Latency     Quantiles `json:"latency_ms"`
	Self        float64   `json:"self_ms"` // mean time in it outside its children
	Errors      int64     `json:"errors,omitempty"`
}
