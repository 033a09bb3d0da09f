// Package record holds what the lab measured: runs, slices and experiments. It is the one format
// that the rest of the lab shares. Producers (load, probe, experiment) fill it in, analyses
// (capacity, compare) read it and reports show it; none of these imports another. Every statement
// about a run can be computed again from its record, later and on another machine.
//
// A Run is one process under one steady load. An Experiment is an ordered list of runs, each with
// its role, variant and round. Times are CLOCK_MONOTONIC nanoseconds (agent/monotonic)
// unless a name says otherwise.
//
// Record is not for writing folders (folder) and not for judging: capacity decides whether an SLO
// was met, compare whether one variant beats another. Only Validate judges: whether a run may be
// used. It starts no goroutines.
package record

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is the version of the folder format. A reader accepts its own version and every older
// one.
const Version = 2

// WindowLength is the length of a window. Windows start at multiples of it on the monotonic
// clock, so processes that never communicate agree on where each window begins.
const WindowLength = 100 * time.Millisecond

// Roles of a run in an experiment.
const (
	RoleSearch   = "search"  // a step of the first search for a variant's capacity
	RoleMeasure  = "measure" // a step whose result enters the comparison
	RoleControl  = "floor"   // A/A control: the baseline a second time, whose difference shows the noise floor
	RoleSweep    = "sweep"   // a step of a declared list of loads
	RoleAblation = "leave"   // the last step of a ladder without the change of one earlier step
	RoleSingle   = "single"  // dyno load: one load, no plan

	RoleSaturate  = "saturate"  // closed loop, or just above capacity: the cause is read here
	RoleProfile   = "profile"   // as RoleSaturate while profiles are taken: its latency is never reported
	RoleTraced    = "traced"    // at capacity while the target sends its traces: latency by stage
	RoleIntervene = "intervene" // as RoleSaturate with one setting changed, to confirm or refute a verdict
)

// RunSpec describes one run before it happens: what to start, how hard to drive it, and for what
// purpose.
type RunSpec struct {
	Role    string        `json:"role"`
	Variant string        `json:"variant"`
	Round   int           `json:"round"`
	Rate    float64       `json:"rate_per_s,omitempty"` // 0: closed model, or a schedule that states its own rate
	Length  time.Duration `json:"length_ns,omitempty"`  // measured time; 0: the scenario's
	// RampTo is the rate at the end of the run, which rises evenly from Rate, per second; 0: the
	// rate stays.
	RampTo float64 `json:"ramp_to_per_s,omitempty"`
	// Connections is the number of connections that carry the load; 0: the scenario's.
	Connections int  `json:"connections,omitempty"`
	Confirm     bool `json:"hold,omitempty"` // confirms a capacity; runs at least as long as a gauge's slope needs
	// Closed uses the closed model, whatever the scenario's schedule says. A job then works on
	// Connections units concurrently.
	Closed bool `json:"closed,omitempty"`
	// Capped reports whether Rate is an upper bound on the load, however much the target could
	// take.
	Capped bool `json:"capped,omitempty"`
	// Change is the setting that an intervention changes in the target; nil: none.
	Change *Change `json:"change,omitempty"`
}

// Diagnostic reports whether the run serves to find what bounds the target. Such a run says
// nothing about how much the target carries under its SLO.
func (s RunSpec) Diagnostic() bool {
	switch s.Role {
	case RoleSaturate, RoleProfile, RoleTraced, RoleIntervene:
		return true
	}
	return false
}

// Change is one setting of the Go runtime that an intervention changes in a target.
type Change struct {
	GOGC  int `json:"gogc,omitempty"`       // percent; 0: unchanged
	Procs int `json:"gomaxprocs,omitempty"` // 0: unchanged
}

// Run is one process under one steady load.
type Run struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Spec    RunSpec   `json:"step"`
	Started time.Time `json:"started"`
	Load    LoadInfo  `json:"load"`
	Target  Target    `json:"target"`
	SLO     SLO       `json:"slo"`
	Machine Machine   `json:"machine"`
	Totals  Totals    `json:"totals"`
	System  System    `json:"surroundings"`
	Invalid string    `json:"invalid,omitempty"` // why the run does not count; empty: it counts
	// NoSuccess says that every request failed, and how; empty: one succeeded.
	NoSuccess string `json:"no_success,omitempty"`
	// Disturbed names what disturbed the run; empty: nothing. An SLO that was met despite it was
	// met; one that was missed may have been missed because of it.
	Disturbed string   `json:"disturbed,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	Begin     int64    `json:"begin_ns"` // first measured instant
	// BeginAt is Begin by the wall clock; zero: the run is of an earlier version, or had no load.
	BeginAt time.Time     `json:"begin_at,omitzero"`
	Length  time.Duration `json:"length_ns"` // measured time, without warm-up and drain

	Profiles []ProfileFile `json:"profiles,omitempty"` // profiles taken in the run
	// Downstream is a process that the target calls and that was profiled as well; nil: none.
	Downstream *Downstream `json:"downstream,omitempty"`
	Stages     []Stage     `json:"stages,omitempty"` // latency by stage, if the target sends its spans

	// Series has one entry per window of series.ndjson, warm-up and drain included.
	Series []Window `json:"-"`
	// FixtureProfiles and FixtureTrace are for tests, and for analyses of what no folder has: if set, they are used instead of the
	// files in the folder.
	FixtureProfiles []*Profile `json:"-"`
	FixtureTrace    *Trace     `json:"-"`
	// Dir is the folder that the run was read from; empty in tests that build a run.
	Dir string `json:"-"`
	// Unwritten is why the folder lacks a part of the run; nil: it has all of it.
	Unwritten error `json:"-"`
}

// What the size of a load is counted in.
const (
	AxisRate        = "rate"        // units per second: RunSpec.Rate
	AxisConcurrency = "concurrency" // concurrent units: RunSpec.Connections
	AxisSessions    = "sessions"    // connections that stay open: RunSpec.Connections
)

// Kinds of load of earlier records, which have no axis.
const (
	KindJobs     = "jobs"
	KindSessions = "sessions"
)

// Axis returns what the size of the run's load is counted in: AxisRate, AxisConcurrency or
// AxisSessions.
func (r *Run) Axis() string {
	switch l := r.Load; {
	case l.Axis != "":
		return l.Axis
	case l.Kind == KindJobs && l.Model == "closed":
		return AxisConcurrency
	case l.Kind == KindSessions:
		return AxisSessions
	}
	return AxisRate
}

// SelfDriven reports whether the target drove itself: nothing was sent to it.
func (r *Run) SelfDriven() bool { return r.Load.Kind == KindJobs }

// LoadInfo describes how the run was driven.
type LoadInfo struct {
	Kind   string `json:"kind"`           // requests | flows | grpc | sessions | jobs
	Axis   string `json:"axis,omitempty"` // rate | concurrency | sessions; absent: see Run.Axis
	Model  string `json:"model"`          // open | closed
	Engine string `json:"engine"`         // raw-epoll | raw-uring | std | flows | the job's own
	// Protocol is what a connection negotiated, as in "HTTP/2 over TLS 1.3"; empty: not known.
	Protocol    string        `json:"protocol,omitempty"`
	Schedule    string        `json:"schedule"`      // in words: "poisson 2000/s"
	URL         string        `json:"url,omitempty"` // without credentials
	Connections int           `json:"connections,omitempty"`
	Units       int           `json:"units,omitempty"` // units of work in a request, if several: counts and rates are then in units
	Timeout     time.Duration `json:"timeout_ns,omitempty"`
	Seed        uint64        `json:"seed,omitempty"`
	Steps       []string      `json:"steps,omitempty"` // of flows: the classes, in the order of the steps
}

// Target describes the process that was driven.
type Target struct {
	Command  []string        `json:"command,omitempty"`  // redacted
	Assembly json.RawMessage `json:"assembly,omitempty"` // as resolved by the agent
	PID      int             `json:"pid,omitempty"`
	Ready    time.Duration   `json:"ready_ns,omitempty"` // from exec to the ready line
	Procs    int             `json:"gomaxprocs,omitempty"`
	// MemoryLimit is the runtime's soft limit of memory (GOMEMLIMIT), bytes; 0: none, or unknown
	MemoryLimit int64 `json:"memory_limit_bytes,omitempty"`

	Quota  float64 `json:"cpu_quota,omitempty"`    // cores that its cgroup grants; 0: no limit
	Shared bool    `json:"quota_shared,omitempty"` // the lab draws on the same quota
	Agent  bool    `json:"agent,omitempty"`        // it has the agent; false: it was observed from outside
	Pprof  bool    `json:"pprof,omitempty"`        // it serves net/http/pprof
	// DebugRefused says what its debug address answered in place of the agent or net/http/pprof.
	DebugRefused []string `json:"debug_refused,omitempty"`
	Program      string   `json:"program,omitempty"`  // name of its process
	Module       string   `json:"module,omitempty"`   // path of its main module, from its build information
	Package      string   `json:"package,omitempty"`  // path of its main package, likewise
	Commit       string   `json:"commit,omitempty"`   // that its code is of, likewise
	Modified     bool     `json:"modified,omitempty"` // its code had changes that are not in Commit
	NotGo        bool     `json:"not_go,omitempty"`   // its binary was not built by Go
}

// Machine describes where the run happened.
type Machine struct {
	OS        string            `json:"os"`
	Arch      string            `json:"arch"`
	CPU       string            `json:"cpu"`
	Cores     int               `json:"cores"`
	MemoryGiB float64           `json:"memory_gib"`
	Kernel    string            `json:"kernel"`
	Go        string            `json:"go"`
	Settings  map[string]string `json:"settings,omitempty"` // kernel settings that dyno doctor reads: somaxconn, autogroup, ...
	// WakeLatencyHeld reports whether idle CPUs polled instead of halting (PM QoS).
	WakeLatencyHeld bool `json:"wake_latency_held,omitempty"`
}

// String returns the machine on one line, without its settings.
func (m Machine) String() string {
	parts := []string{m.CPU}
	switch {
	case m.Cores == 1:
		parts = append(parts, "1 core")
	case m.Cores > 1:
		parts = append(parts, fmt.Sprintf("%d cores", m.Cores))
	}
	if m.WakeLatencyHeld {
		parts = append(parts, "CPU wake-up latency held at 0")
	}
	if m.MemoryGiB > 0 {
		parts = append(parts, strconv.FormatFloat(math.Round(m.MemoryGiB*100)/100, 'f', -1, 64)+" GiB")
	}
	parts = append(parts, strings.TrimSpace(m.OS+" "+m.Kernel), m.Arch, m.Go)
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// System is what the whole machine and the target used over the measured time.
type System struct {
	OthersCPU     float64 `json:"others_cpu"`               // cores used by processes that the lab did not start, steal included
	StealCPU      float64 `json:"steal_cpu"`                // cores taken by the hypervisor
	TargetCPU     float64 `json:"target_cpu"`               // cores used by the target
	DependencyCPU float64 `json:"companion_cpu"`            // cores used by its dependencies: a scenario's companions, and Peers
	TargetDelay   float64 `json:"target_delay"`             // seconds per second that the target's threads waited for a CPU
	PressureCPU   float64 `json:"pressure_cpu"`             // share of time in which some task waited for a CPU (PSI); -1: not known
	Speed         float64 `json:"speed_mb_per_s,omitempty"` // speed of the machine at a fixed piece of work just before the run; 0: not measured

	// Seconds per second in which the target's busiest thread, and the threads of its busiest
	// process, ran or waited for a CPU.
	BusiestThread  float64 `json:"busiest_thread,omitempty"`
	BusiestProcess float64 `json:"busiest_process,omitempty"`
	// Of a target that Go did not build: the mean number of connections on which it waits for
	// another process's answer, of those that it has open as a client, and the address to which
	// most of the waiting ones lead.
	Calls     float64 `json:"calls,omitempty"`
	CallsOpen float64 `json:"calls_open,omitempty"`
	CallsTo   string  `json:"calls_to,omitempty"`

	TargetSystem    float64 `json:"target_system"`                // the part of TargetCPU spent in the kernel
	Switches        float64 `json:"switches_per_s"`               // voluntary context switches of the target's threads, which then wait
	Preempted       float64 `json:"preempted_per_s"`              // involuntary context switches of the target's threads
	PressureIO      float64 `json:"pressure_io"`                  // share of time in which some task waited for a disk (PSI); -1: not known
	BlockedIO       float64 `json:"blocked_io,omitempty"`         // seconds per second that the target's threads waited for a disk
	ListenOverflows float64 `json:"listen_overflows_per_s"`       // connections refused because an accept queue was full, machine-wide
	AcceptQueue     int64   `json:"accept_queue"`                 // longest accept queue seen at the target's listener
	AcceptLimit     int64   `json:"accept_limit,omitempty"`       // maximum length of that queue
	CacheMisses     float64 `json:"cache_misses_per_s,omitempty"` // last-level cache misses of the target; 0: not permitted here
	TLBMisses       float64 `json:"tlb_misses_per_s,omitempty"`

	// Peers are the processes on this machine that the target calls; their CPU time is part of
	// DependencyCPU.
	Peers []Peer `json:"peers,omitempty"`

	// Outgoing counts the connections that the target opened itself; nil: they could not be read.
	Outgoing *Outgoing `json:"outgoing,omitempty"`

	Elsewhere bool `json:"elsewhere,omitempty"` // the target runs on another machine; the figures come from its agent
	Seen      bool `json:"seen"`                // false: none of the above could be read
}

// Outgoing is the largest number of connections that a process had open as a client at one moment,
// by where they lead.
type Outgoing struct {
	Own    int `json:"own"`    // to a listener of the same process
	Others int `json:"others"` // to other processes, here or elsewhere
}

// Variant is one way to start the target: a step of a ladder, or one side of a comparison.
type Variant struct {
	Name   string   `json:"name"`
	Change string   `json:"change,omitempty"` // what differs from the step before, in one line
	Why    string   `json:"why,omitempty"`    // the expected effect
	Args   []string `json:"args,omitempty"`
	// Units is the number of work units that a run of the variant receives; 0: no fixed number.
	Units int `json:"units,omitempty"`
	// Values are the values of a sweep's axes, by name; nil: the variant was listed.
	Values map[string]string `json:"values,omitempty"`
	// Reference is the variant that this one is compared with, of those in the experiment; empty:
	// the first.
	Reference string `json:"beside,omitempty"`
}

// Kinds of experiment.
const (
	KindLoad     = "load"
	KindCapacity = "capacity"
	KindLadder   = "ladder"
	KindCompare  = "compare"
	KindSweep    = "sweep"
	KindDiagnose = "diagnose"
)

// Experiment is an ordered list of runs and their purpose.
type Experiment struct {
	Version  int       `json:"version"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Started  time.Time `json:"started"`
	Command  []string  `json:"command"`            // the command that runs it again
	Scenario string    `json:"scenario,omitempty"` // text of the file, redacted
	Service  string    `json:"service,omitempty"`  // name of what was measured, for titles
	Metric   string    `json:"metric,omitempty"`   // work | capacity | p99 | cpu
	SLO      SLO       `json:"slo"`
	Variants []Variant `json:"variants,omitempty"` // in ladder order; the first is the baseline
	Programs []Program `json:"programs,omitempty"` // whose processes took turns, each once
	// Revisions are the commits of A and B where the lab built both; empty: the folder as it was.
	Revisions []string `json:"revisions,omitempty"`
	Machine   Machine  `json:"machine"`
	Order     []string `json:"runs"` // IDs of the runs, in the order they ran
	Warnings  []string `json:"warnings,omitempty"`
	// Budget bounds the time that the experiment may take; 0: as long as its plan needs.
	Budget     time.Duration `json:"budget_ns,omitempty"`
	InProgress *InProgress   `json:"under_way,omitempty"` // nil: it has ended
	Outcome    *Outcome      `json:"outcome,omitempty"`   // nil: it has not ended

	// Runs are the runs in the order of Order.
	Runs []*Run `json:"-"`
	// Slices are the turns of variants that were measured side by side, in order.
	Slices []Slice `json:"-"`
	// Dir is the folder that the experiment was read from.
	Dir string `json:"-"`
	// Unwritten is why the folder lacks a part of the experiment; nil: it has all of it.
	Unwritten error `json:"-"`
}

// Program is a Go program that was measured, as its build information says.
type Program struct {
	Package  string `json:"package"`            // path of its main package
	Commit   string `json:"commit,omitempty"`   // that its code is of; empty: the build did not record it
	Modified bool   `json:"modified,omitempty"` // its code had changes that are not in Commit
}

// InProgress describes how far a running experiment has got.
type InProgress struct {
	PID      int     `json:"pid"` // process ID of the lab; if that process is gone, the experiment was interrupted
	Spec     RunSpec `json:"step"`
	Expected int     `json:"expected"` // estimated number of runs; 0: the experiment is measured in turns
	// Ends is when the budget is used up; the experiment may end earlier.
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

// RunsFolder is the folder of an experiment's runs, one folder per run, inside the experiment's.
const RunsFolder = "runs"

// RunDir returns the folder of the run with that ID.
func (e *Experiment) RunDir(id string) string { return filepath.Join(e.Dir, RunsFolder, id) }

// NextID returns the ID of the next run: its place in the order, its role and its variant.
func (e *Experiment) NextID(s RunSpec) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			return c
		}
		return '-'
	}, s.Variant)
	return fmt.Sprintf("%03d-%s-%s", len(e.Order)+1, s.Role, name)
}
