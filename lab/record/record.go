// Package record is the waist of the lab: what a measurement was and what it saw, in memory and on
// disk. Producers (load, probe, experiment) write it, analyses (capacity, compare) read it, reports show
// it, and none of them needs another to be there. Whatever can be said about a run can be said again
// from its folder, later and elsewhere.
//
// A Run is one process under one steady load. An Experiment is an ordered list of runs, each with its
// role, variant, pair and round. Times are CLOCK_MONOTONIC nanoseconds (agent/monotonic) unless a name
// says otherwise.
//
// It is not for judging: whether an SLO was met or one variant beats another is said by capacity and
// compare. The one judgement here is Fit: whether a run may be used at all. It starts no goroutines.
package record

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Version is the version of the folder format. A reader accepts its own and every older one.
const Version = 2

// WindowLength is the length of a window. Windows start at multiples of it on the monotonic clock, so
// that processes which never met agree on where they lie.
const WindowLength = 100 * time.Millisecond

// Roles a run can have in an experiment.
const (
	RoleSearch  = "search"  // a step of the first search for a variant's capacity
	RoleMeasure = "measure" // a step whose datum enters the result
	RoleFloor   = "floor"   // the baseline measured against itself
	RoleSweep   = "sweep"   // one of a declared list of loads
	RoleLeave   = "leave"   // the last step of a ladder with one earlier step left out
	RoleSingle  = "single"  // dyno load: one load, no plan

	RoleSaturate  = "saturate"  // closed loop, or just above capacity: where the cause is read
	RoleProfile   = "profile"   // the same while profiles are taken: its latency is never reported
	RoleTraced    = "traced"    // at capacity while the target sends its traces: latency by stage
	RoleIntervene = "intervene" // the same with one thing changed, to bear a verdict out or overturn it
)

// Step names one run before it happens: what to start, how hard to drive it, and what it is for.
type Step struct {
	Role    string        `json:"role"`
	Variant string        `json:"variant"`
	Round   int           `json:"round"`
	Pair    int           `json:"pair"`
	Rate    float64       `json:"rate_per_s,omitempty"` // 0: closed model, or a schedule that states its own
	Length  time.Duration `json:"length_ns,omitempty"`  // measured time; 0: the scenario's
	// RampTo is the rate that the run ends with, having risen evenly from Rate, per second; 0: the rate stays.
	RampTo float64 `json:"ramp_to_per_s,omitempty"`
	// Connections is how many carry the load; 0: as many as the scenario says.
	Connections int  `json:"connections,omitempty"`
	Hold        bool `json:"hold,omitempty"` // confirms a rate that was found; runs at least as long as a gauge's slope needs
	// Closed drives in the closed model, whatever the scenario's schedule says. A job then has Connections units
	// under way at once.
	Closed bool `json:"closed,omitempty"`
	// Capped says that the load may go no further than this, whatever the target could take.
	Capped bool `json:"capped,omitempty"`
	// Change is what an intervention changes in the target; nil: nothing.
	Change *Change `json:"change,omitempty"`
}

// ForCause reports whether a run is there to show what bounds the target. It says nothing of how much the
// target carries under its SLO.
func (s Step) ForCause() bool {
	switch s.Role {
	case RoleSaturate, RoleProfile, RoleTraced, RoleIntervene:
		return true
	}
	return false
}

// Change is one setting of the Go runtime that an intervention changes in a target.
type Change struct {
	GOGC  int `json:"gogc,omitempty"`       // percent; 0: as it is
	Procs int `json:"gomaxprocs,omitempty"` // 0: as it is
}

// Run is one process under one steady load.
type Run struct {
	Version int          `json:"version"`
	ID      string       `json:"id"`
	Step    Step         `json:"step"`
	Started time.Time    `json:"started"`
	Load    Load         `json:"load"`
	Target  Target       `json:"target"`
	SLO     SLO          `json:"slo"`
	Machine Machine      `json:"machine"`
	Totals  Totals       `json:"totals"`
	Around  Surroundings `json:"surroundings"`
	Invalid string       `json:"invalid,omitempty"` // why the run does not count; empty: it does
	// Disturbed is what got in the run's way: an SLO that it met was met all the same, one that it missed may not have
	// been the target's doing. Empty: nothing did.
	Disturbed string        `json:"disturbed,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
	Begin     int64         `json:"begin_ns"`  // first instant measured
	Length    time.Duration `json:"length_ns"` // measured time, warm-up and drain left out

	Profiles []ProfileFile `json:"profiles,omitempty"` // what was taken in the run
	// Downstream is a process that the target calls, which was looked into as well; nil: none was.
	Downstream *Downstream `json:"downstream,omitempty"`
	Stages     []Stage     `json:"stages,omitempty"` // latency by stage, when the target sends its spans

	// Series is one line per window of series.ndjson, warm-up and drain included.
	Series []Window `json:"-"`
	// Made and MadeTrace stand for what would be read from the folder, in a made-up run.
	Made      []*Profile `json:"-"`
	MadeTrace *Trace     `json:"-"`
	// Dir is the folder the run was read from; empty for a made-up run.
	Dir string `json:"-"`
}

// ByConcurrency reports whether the run's load was units at once, Step.Connections of them, and not a rate.
func (r *Run) ByConcurrency() bool { return r.Load.Kind == KindJobs && r.Load.Model == "closed" }

// KindJobs is the Load.Kind of a target that drives itself.
const KindJobs = "jobs"

// Load says how the run was driven.
type Load struct {
	Kind        string        `json:"kind"`          // requests | sessions | jobs
	Model       string        `json:"model"`         // open | closed
	Engine      string        `json:"engine"`        // raw-epoll | raw-uring | std | the job's own
	Schedule    string        `json:"schedule"`      // in words: "poisson 2000/s"
	URL         string        `json:"url,omitempty"` // without credentials
	Connections int           `json:"connections,omitempty"`
	Timeout     time.Duration `json:"timeout_ns,omitempty"`
	Seed        uint64        `json:"seed,omitempty"`
}

// Target says what was driven.
type Target struct {
	Command  []string        `json:"command,omitempty"`  // redacted
	Assembly json.RawMessage `json:"assembly,omitempty"` // as the agent resolved it
	PID      int             `json:"pid,omitempty"`
	Ready    time.Duration   `json:"ready_ns,omitempty"` // from exec to the ready line
	Procs    int             `json:"gomaxprocs,omitempty"`
	Quota    float64         `json:"cpu_quota,omitempty"`    // cores that its cgroup grants it; 0: no limit
	Shared   bool            `json:"quota_shared,omitempty"` // the lab draws on the same quota
	Agent    bool            `json:"agent,omitempty"`        // it has the agent; false: it was looked into from outside
	Pprof    bool            `json:"pprof,omitempty"`        // it has net/http/pprof
	Program  string          `json:"program,omitempty"`      // its process's name
	Module   string          `json:"module,omitempty"`       // path of its main module, by its build information
	NotGo    bool            `json:"not_go,omitempty"`       // its binary was not built by Go
}

// Machine says where the run happened.
type Machine struct {
	OS        string            `json:"os"`
	Arch      string            `json:"arch"`
	CPU       string            `json:"cpu"`
	Cores     int               `json:"cores"`
	MemoryGiB float64           `json:"memory_gib"`
	Kernel    string            `json:"kernel"`
	Go        string            `json:"go"`
	Awake     bool              `json:"awake,omitempty"`    // of an earlier version: loops of the lowest priority kept its CPUs busy
	Settings  map[string]string `json:"settings,omitempty"` // what dyno doctor reads: somaxconn, autogroup, ...
	// WakeLatencyHeld says that CPUs with nothing to do polled instead of halting (PM QoS).
	WakeLatencyHeld bool `json:"wake_latency_held,omitempty"`
}

// String puts the machine on one line, without its settings.
func (m Machine) String() string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	add(m.CPU)
	switch {
	case m.Cores == 1:
		add("1 core")
	case m.Cores > 1:
		add(fmt.Sprintf("%d cores", m.Cores))
	}
	if m.WakeLatencyHeld {
		add("CPU wake-up latency held at 0")
	}
	if m.Awake {
		add("CPUs kept awake by loops")
	}
	if m.MemoryGiB > 0 {
		add(strconv.FormatFloat(math.Round(m.MemoryGiB*100)/100, 'f', -1, 64) + " GiB")
	}
	add(strings.TrimSpace(m.OS + " " + m.Kernel))
	add(m.Arch)
	add(m.Go)
	return strings.Join(parts, ", ")
}

// Surroundings is what the machine did besides the experiment, over the measured time.
type Surroundings struct {
	OthersCPU    float64 `json:"others_cpu"`               // cores used by processes that the lab did not start, steal included
	StealCPU     float64 `json:"steal_cpu"`                // cores taken by the hypervisor
	TargetCPU    float64 `json:"target_cpu"`               // cores used by the target
	CompanionCPU float64 `json:"companion_cpu"`            // cores used by what stands beside it
	TargetDelay  float64 `json:"target_delay"`             // seconds per second that the target's threads waited for a CPU
	PressureCPU  float64 `json:"pressure_cpu"`             // share of time in which some task waited for a CPU (PSI); -1: not known
	Speed        float64 `json:"speed_mb_per_s,omitempty"` // of the machine at a fixed piece of work just before the run; 0: not taken

	TargetSystem    float64 `json:"target_system"`                // of TargetCPU, what was spent in the kernel
	Switches        float64 `json:"switches_per_s"`               // of the target's threads that gave up the CPU by themselves, to wait
	Preempted       float64 `json:"preempted_per_s"`              // of the target's threads that had it taken away
	PressureIO      float64 `json:"pressure_io"`                  // share of time in which some task waited for a disk (PSI); -1: not known
	BlockedIO       float64 `json:"blocked_io,omitempty"`         // seconds per second that the target's threads waited for a disk
	ListenOverflows float64 `json:"listen_overflows_per_s"`       // connections refused because an accept queue was full, machine-wide
	AcceptQueue     int64   `json:"accept_queue"`                 // longest seen at the target's listener
	AcceptLimit     int64   `json:"accept_limit,omitempty"`       // how long it may get
	CacheMisses     float64 `json:"cache_misses_per_s,omitempty"` // last level, of the target; 0: not permitted here
	TLBMisses       float64 `json:"tlb_misses_per_s,omitempty"`

	// Peers are the processes of this machine that the target calls; their CPU is part of CompanionCPU.
	Peers []Peer `json:"peers,omitempty"`

	Elsewhere bool `json:"elsewhere,omitempty"` // the target runs on another machine, of which its agent tells
	Seen      bool `json:"seen"`                // false: nothing of the above could be read
}

// Variant is one way to start the target: a step of a ladder, or one side of a comparison.
type Variant struct {
	Name   string   `json:"name"`
	Change string   `json:"change,omitempty"` // what differs from the step before, in one line
	Why    string   `json:"why,omitempty"`    // what it is expected to do
	Args   []string `json:"args,omitempty"`
	// Units is how many units of work a run of it is given; 0: no number.
	Units int `json:"units,omitempty"`
	// Values are those of a sweep's axes, by name; nil: the variant was listed.
	Values map[string]string `json:"values,omitempty"`
}

// Kinds an experiment can have.
const (
	KindLoad     = "load"
	KindCapacity = "capacity"
	KindLadder   = "ladder"
	KindCompare  = "compare"
	KindSweep    = "sweep"
	KindDiagnose = "diagnose"
)

// Experiment is an ordered list of runs and what they were meant to show.
type Experiment struct {
	Version  int       `json:"version"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Started  time.Time `json:"started"`
	Command  []string  `json:"command"`            // how to run it again
	Scenario string    `json:"scenario,omitempty"` // the file's text, redacted
	Service  string    `json:"service,omitempty"`  // what was measured, for titles
	Metric   string    `json:"metric,omitempty"`   // capacity | p99 | cpu
	SLO      SLO       `json:"slo"`
	Variants []Variant `json:"variants,omitempty"` // in ladder order; the first is the baseline
	Machine  Machine   `json:"machine"`
	Order    []string  `json:"runs"` // the runs' IDs, in the order they ran
	Warnings []string  `json:"warnings,omitempty"`
	// Budget is how long the experiment may take; 0: as long as its plan needs.
	Budget   time.Duration `json:"budget_ns,omitempty"`
	UnderWay *UnderWay     `json:"under_way,omitempty"` // nil: it has ended
	Outcome  *Outcome      `json:"outcome,omitempty"`   // nil: it has not ended, or is of format version 1; see Ended

	// Runs are the runs themselves, in Order.
	Runs []*Run `json:"-"`
	// Slices are the turns of variants that were measured side by side, in order.
	Slices []Slice `json:"-"`
	// Dir is the folder the experiment was read from.
	Dir string `json:"-"`
}

// UnderWay says where an experiment stands that goes on.
type UnderWay struct {
	PID      int  `json:"pid"` // of the lab: without that process, the experiment was broken off
	Step     Step `json:"step"`
	Expected int  `json:"expected"` // estimate of how many runs there will be; 0: the experiment takes turns
	// Ends is when the budget is used up; the experiment may be done earlier.
	Ends time.Time `json:"ends,omitzero"`
}

// Select returns the runs for which keep is true, in order.
func (e *Experiment) Select(keep func(*Run) bool) []*Run {
	var out []*Run
	for _, r := range e.Runs {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// Variant returns the variant of that name.
func (e *Experiment) Variant(name string) (Variant, bool) {
	for _, v := range e.Variants {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}
