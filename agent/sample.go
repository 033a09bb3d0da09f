package agent

import "encoding/json"

// Paths under /debug/dyno/ on the debug address.
const (
	PathInfo    = "/debug/dyno/info"    // GET: Info
	PathSamples = "/debug/dyno/samples" // GET: a stream of Samples at 10 Hz, one JSON object per line
	PathControl = "/debug/dyno/control" // POST: Control; answers with the previous values
	PathTrace   = "/debug/dyno/trace"   // GET ?seconds=0.5: an execution trace of up to 5 s
	PathFlight  = "/debug/dyno/flight"  // GET: the flight recorder's window, as an execution trace
	PathKept    = "/debug/dyno/kept"    // GET: the window that KeepFlight kept, likewise
)

// SamplesPerSecond is the rate of the stream. Samples are taken at multiples of 100 ms of the
// monotonic clock (agent/monotonic), where the load generator's windows begin.
const SamplesPerSecond = 10

// Info describes the process.
type Info struct {
	Service string `json:"service"`
	PID     int    `json:"pid"`
	Go      string `json:"go"`
	Version string `json:"version,omitempty"` // version of the main module, with its commit
	Procs   int    `json:"gomaxprocs"`
	// MemoryLimit is the runtime's soft limit of memory (GOMEMLIMIT), bytes; 0: none; nil: not sent, as
	// by agents of earlier versions.
	MemoryLimit *int64          `json:"memory_limit,omitempty"`
	Assembly    json.RawMessage `json:"assembly,omitempty"` // the choice for each seam and setting
	Gauges      []string        `json:"gauges,omitempty"`
}

// Sample is one reading of the process. Sums grow from the start of the process, so readers
// compute differences. Figures that the runtime lacks stay 0.
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
	GCPauseMax float64 `json:"gc_pause_max_s"` // longest pause since the previous sample, s (bucket upper bound)
	GCCPU      float64 `json:"gc_cpu_s"`       // s, sum; moves once per GC cycle
	MutexWait  float64 `json:"mutex_wait_s"`   // goroutine-seconds blocked on mutexes, sum
	SchedP99   float64 `json:"sched_p99_s"`    // p99 of the time runnable goroutines waited since the previous sample, s
	SystemCPU  float64 `json:"system_cpu_s"`   // part of CPU spent in the kernel, s, sum
	Delay      float64 `json:"delay_s"`        // time that the process's threads waited for a CPU (Linux), s, sum

	// GCPauses are the stop-the-world pauses since the previous sample, by length; empty: there
	// were none.
	GCPauses []Pauses `json:"gc_pauses,omitempty"`

	Gauges    map[string]float64 `json:"gauges,omitempty"`
	Profiling bool               `json:"profiling,omitempty"` // a CPU profile, trace or the flight recorder was running since the previous sample
}

// Pauses is a number of pauses of about the same length.
type Pauses struct {
	UpTo  float64 `json:"up_to_s"` // upper bound of the runtime's bucket, s
	Count uint64  `json:"count"`
}

// Control changes settings that have a cost. A nil field leaves its setting unchanged.
type Control struct {
	MutexFraction *int   `json:"mutex_fraction,omitempty"` // runtime.SetMutexProfileFraction
	BlockRate     *int   `json:"block_rate,omitempty"`     // runtime.SetBlockProfileRate, ns
	GOGC          *int   `json:"gogc,omitempty"`           // debug.SetGCPercent; -1: off
	MemoryLimit   *int64 `json:"memory_limit,omitempty"`   // debug.SetMemoryLimit, bytes
	Procs         *int   `json:"gomaxprocs,omitempty"`     // runtime.GOMAXPROCS

	FlightRecorder *FlightRecorder `json:"flight_recorder,omitempty"`
}

// FlightRecorder configures the flight recorder, which keeps an execution trace of the last
// moments in memory. The zero FlightRecorder switches it off.
type FlightRecorder struct {
	MinAge   float64 `json:"min_age_s"` // minimum time that it reaches back, s, up to 60; 0: off
	MaxBytes uint64  `json:"max_bytes"` // approximate limit of the trace, up to 64 MiB, which overrides MinAge; 0: 10 MiB
}
