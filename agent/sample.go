package agent

import "encoding/json"

// Paths under /debug/dyno/ on the debug address.
const (
	PathInfo    = "/debug/dyno/info"    // GET: Info
	PathSamples = "/debug/dyno/samples" // GET: a stream of Samples at 10 Hz, one JSON object a line
	PathControl = "/debug/dyno/control" // POST: Control; answers with what was set before
	PathTrace   = "/debug/dyno/trace"   // GET ?seconds=0.5: an execution trace of up to 5 s
	PathFlight  = "/debug/dyno/flight"  // GET: the flight recorder's window, as an execution trace
)

// SamplesPerSecond is how often the stream samples. Samples are taken at multiples of 100 ms of the
// monotonic clock (agent/monotonic), which is where the load generator's windows begin.
const SamplesPerSecond = 10

// Info says what the process is.
type Info struct {
	Service  string          `json:"service"`
	PID      int             `json:"pid"`
	Go       string          `json:"go"`
	Version  string          `json:"version,omitempty"` // of the main module, with its commit
	Procs    int             `json:"gomaxprocs"`
	Assembly json.RawMessage `json:"assembly,omitempty"` // what was chosen for each seam and setting
	Gauges   []string        `json:"gauges,omitempty"`
}

// Sample is one reading of the process. Sums grow from the start of the process; a reader takes
// differences. Figures that the runtime does not have stay 0.
type Sample struct {
	At         int64   `json:"t_ns"`           // CLOCK_MONOTONIC
	CPU        float64 `json:"cpu_s"`          // user and system time of the process, s, sum
	Goroutines int64   `json:"goroutines"`     // now
	HeapLive   int64   `json:"heap_live"`      // bytes marked by the last GC cycle
	HeapGoal   int64   `json:"heap_goal"`      // bytes
	Allocs     uint64  `json:"allocs"`         // objects, sum
	AllocBytes uint64  `json:"alloc_bytes"`    // sum
	GCCycles   uint64  `json:"gc_cycles"`      // sum
	GCPause    float64 `json:"gc_pause_s"`     // stop-the-world time for GC, s, sum (bucket midpoints)
	GCPauseMax float64 `json:"gc_pause_max_s"` // the longest pause since the sample before, s (bucket upper bound)
	GCCPU      float64 `json:"gc_cpu_s"`       // s, sum; moves once per GC cycle
	MutexWait  float64 `json:"mutex_wait_s"`   // goroutine-seconds blocked on mutexes, sum
	SchedP99   float64 `json:"sched_p99_s"`    // p99 of the time runnable goroutines waited, since the sample before, s
	SystemCPU  float64 `json:"system_cpu_s"`   // of CPU, what was spent in the kernel, s, sum
	Delay      float64 `json:"delay_s"`        // time that the process's threads waited for a CPU (Linux), s, sum

	// GCPauses are the stop-the-world pauses since the sample before, by their length; empty: there were none.
	GCPauses []Pauses `json:"gc_pauses,omitempty"`

	Gauges    map[string]float64 `json:"gauges,omitempty"`
	Profiling bool               `json:"profiling,omitempty"` // a CPU profile, trace or the flight recorder was running since the sample before
}

// Pauses is a number of pauses of about the same length.
type Pauses struct {
	UpTo  float64 `json:"up_to_s"` // upper bound of the runtime's bucket, s
	Count uint64  `json:"count"`
}

// Control switches what costs something. A nil field is left as it is.
type Control struct {
	MutexFraction *int   `json:"mutex_fraction,omitempty"` // runtime.SetMutexProfileFraction
	BlockRate     *int   `json:"block_rate,omitempty"`     // runtime.SetBlockProfileRate, ns
	GOGC          *int   `json:"gogc,omitempty"`           // debug.SetGCPercent; -1: off
	MemoryLimit   *int64 `json:"memory_limit,omitempty"`   // debug.SetMemoryLimit, bytes
	Procs         *int   `json:"gomaxprocs,omitempty"`     // runtime.GOMAXPROCS

	FlightRecorder *FlightRecorder `json:"flight_recorder,omitempty"`
}

// FlightRecorder sets the flight recorder, which keeps an execution trace of the last moments in memory. The
// zero FlightRecorder switches it off.
type FlightRecorder struct {
	MinAge   float64 `json:"min_age_s"` // how far back it reaches at least, up to 60 s; 0: off
	MaxBytes uint64  `json:"max_bytes"` // of trace kept, about, up to 64 MiB, which goes before MinAge; 0: 10 MiB
}
