package record

import "time"

// Kinds of slice.
const (
	SliceWork = "work" // a fixed number of requests, as fast as the connections carry them
	SliceSLO  = "slo"  // an open model from an empty queue, which meets the SLO or misses it
)

// Slice is one turn of a variant: a load of some tenths of a second on a process that keeps running
// between its turns. Variants that take turns within seconds meet the machine in the same state;
// whole runs minutes apart do not.
type Slice struct {
	Kind    string `json:"kind"`
	Role    string `json:"role"` // RoleMeasure, RoleControl or RoleAblation
	Variant string `json:"variant"`
	// Generation counts the times at which all processes were started afresh, and Block the rounds
	// of turns, both from 1. A block visits each variant at most once, in random order. Variants
	// that cannot run side by side have several slices in a row at each visit.
	Generation int `json:"generation"`
	Block      int `json:"block"`

	Start  int64         `json:"t_ns"`        // intended time of the first request
	At     time.Time     `json:"at,omitzero"` // Start by the wall clock; zero: of an earlier version
	Length time.Duration `json:"length_ns"`   // SliceWork: until the last answer (or delivery); SliceSLO: while requests are sent
	// Offered is the number of requests that were due. Each ends as Served (answered well, or
	// delivered if the SLO is on delivery), Failed (an error, or accepted but not delivered) or
	// Unfinished.
	Offered    int64 `json:"offered"`
	Served     int64 `json:"served"`
	Failed     int64 `json:"failed,omitempty"`
	Unfinished int64 `json:"unfinished,omitempty"`

	// CPU seconds within the slice; TargetCPU is 0 when the process could not be read.
	TargetCPU     float64 `json:"target_cpu_s,omitempty"`
	TargetDelay   float64 `json:"target_delay_s,omitempty"` // its threads waited for a CPU
	DependencyCPU float64 `json:"companion_cpu_s,omitempty"`
	GeneratorCPU  float64 `json:"generator_cpu_s,omitempty"`
	Steal         float64 `json:"steal"`               // share of the machine taken by the hypervisor
	RSS           int64   `json:"rss_bytes,omitempty"` // resident memory of the target at the end; 0: not known
	Others        float64 `json:"others"`              // share of the machine used by other processes, without steal
	// Allocs and AllocBytes are the target's heap allocations within the slice; -1: the target
	// has no agent.
	Allocs     float64 `json:"allocs"`
	AllocBytes float64 `json:"alloc_bytes"`

	// The remaining fields belong to SliceSLO.

	// MutexWait is goroutine-seconds blocked on mutexes, and GCPause the seconds in which the
	// collector stopped all goroutines, within the slice; both 0 if the target has no agent.
	MutexWait float64 `json:"mutex_wait_s,omitempty"`
	GCPause   float64 `json:"gc_pause_s,omitempty"`

	Rate         float64            `json:"rate_per_s,omitempty"` // rate of the load
	Latency      Quantiles          `json:"latency_ms,omitzero"`  // latency that the SLO bounds
	Gauges       map[string]float64 `json:"gauges,omitempty"`     // maximum of each gauge
	Met          bool               `json:"met,omitempty"`
	Misses       []string           `json:"misses,omitempty"`   // the terms of the SLO that were missed, as text; empty when Met
	Inconclusive string             `json:"unjudged,omitempty"` // why Met is not a verdict; empty: it is one

	Limited string `json:"limited,omitempty"` // how the load generator was the limit; empty: it was not
	Invalid string `json:"invalid,omitempty"` // why the slice cannot be used; empty: it can
}

// PerS returns the rate of served requests, per second; for SliceWork it is the peak work rate.
func (s *Slice) PerS() float64 {
	if s.Length <= 0 {
		return 0
	}
	return float64(s.Served) / s.Length.Seconds()
}

// CPUMicros returns the target's CPU time per served request, in us; 0: not known.
func (s *Slice) CPUMicros() float64 {
	if s.Served == 0 {
		return 0
	}
	return s.TargetCPU * 1e6 / float64(s.Served)
}

// ErrorShare returns the share of the requests that failed or did not finish.
func (s *Slice) ErrorShare() float64 {
	if s.Offered == 0 {
		return 0
	}
	return float64(s.Failed+s.Unfinished) / float64(s.Offered)
}

// SlicesOf returns the slices of one kind for which keep is true, in order.
func (e *Experiment) SlicesOf(kind string, keep func(*Slice) bool) []*Slice {
	var out []*Slice
	for i := range e.Slices {
		if s := &e.Slices[i]; s.Kind == kind && keep(s) {
			out = append(out, s)
		}
	}
	return out
}
