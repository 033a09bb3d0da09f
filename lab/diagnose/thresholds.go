package diagnose

import (
	"maps"
	"math"
)

// Threshold is where a signal begins to speak.
type Threshold struct {
	Value float64
	SetBy string // the experiment that set it
}

// Thresholds are all the numbers that a verdict depends on, by name. `dyno calibrate` fits them to its
// servers and says how far each may move before a verdict changes; those here are round numbers within
// that room. It judges each family of servers by thresholds fitted to the other families, and that is the
// share of right verdicts it reports.
type Thresholds map[string]Threshold

// Names of thresholds.
const (
	refusing      = "refusing"
	generatorBusy = "generator_busy"
	generatorLag  = "generator_lag"
	idleCPU       = "idle_cpu"
	occupiedLeast = "occupied"
	growing       = "growing"
	neighbours    = "neighbours"
	delayed       = "delayed"
	lockWaiting   = "lock_waiting"
	busyCPU       = "busy_cpu"
	allocating    = "allocating"
	collecting    = "collecting"
	spinning      = "spinning"
	kernel        = "kernel"
	waiting       = "waiting"
	serial        = "serial"
	accepting     = "accepting"
	filled        = "filled"
	fewerProcs    = "fewer_procs"
	lessGC        = "less_gc"
)

// Defaults are the thresholds in use.
var Defaults = Thresholds{
	refusing:      {0.05, "share of errors; more than that is turning away, not carrying"},
	generatorBusy: {0.8, "share of a core; a sending thread busier than this sent late"},
	generatorLag:  {0.25, "share of the reported p99"},
	idleCPU:       {0.7, "utilisation below which the CPU is not what is short"},
	occupiedLeast: {0.8, "share of the clients' time spent waiting for an answer"},
	growing:       {0.10, "growth of the throughput per doubling of the clients"},
	neighbours:    {0.30, "share of the machine; a rate is out by as much as neighbours take, but what bounds a service could still be told with half of the machine taken"},
	delayed:       {0.02, "seconds per second that the target waited for a CPU"},
	lockWaiting:   {0.5, "share of the clients"},
	busyCPU:       {0.7, "utilisation"},
	allocating:    {0.40, "share of the CPU profile in garbage collection and allocation"},
	collecting:    {0.25, "share of the CPU time in garbage collection"},
	spinning:      {0.25, "share of the CPU profile in locks"},
	kernel:        {0.40, "share of the CPU profile in system calls"},
	waiting:       {0.40, "share of the requests' time in one kind of wait"},
	serial:        {0.80, "share of the time that the one goroutine is busy on which the requests wait"},
	accepting:     {0.25, "share of the clients in the accept queue"},
	filled:        {0.50, "share of the accept queue's length"},
	fewerProcs:    {0.85, "throughput on one processor less, over that before: a service that computes falls below"},
	lessGC:        {1.10, "throughput at eight times GOGC, over that before: a service that collects rises above"},
}

// WithoutNeighbours never blames the machine: what was measured beside neighbours is then read as if they
// had taken nothing but room.
func (t Thresholds) WithoutNeighbours() Thresholds {
	out := maps.Clone(t)
	out[neighbours] = Threshold{Value: math.Inf(1), SetBy: "left out"}
	return out
}
