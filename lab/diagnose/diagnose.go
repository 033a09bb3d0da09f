// Package diagnose names the bottleneck of a service at the load where its throughput stops rising:
// in words, with the place in the code, the evidence, and the result of an intervention. It reads
// recorded runs (package record) and decides by a list of rules (rules.go) with thresholds that
// each name the experiment that set them (thresholds.go). If the evidence does not suffice, the
// answer is Unknown and lists what is missing.
//
// Every function depends only on recorded data. The package is not for taking profiles or changing
// settings (the executor does; Plan only names the next run), or for finding the capacity (package
// capacity). It starts no goroutines.
package diagnose

import (
	"dyno/lab/diagnose/findings"
	"dyno/lab/record"
)

// Bound is the bottleneck of a service: what limits its throughput.
type Bound string

// Bounds.
const (
	CPU     Bound = "cpu"     // computing
	GC      Bound = "gc"      // allocating and collecting
	Lock    Bound = "lock"    // waiting for a lock, or spinning on it
	Syscall Bound = "syscall" // work in the kernel on the service's behalf
	// waiting for another resource than a lock: a pool, a downstream, a disk, one consumer, a timer
	Wait        Bound = "wait"
	Generator   Bound = "generator"   // the load generator: the service could carry more
	Environment Bound = "environment" // other processes on the machine
	NotLoaded   Bound = "not-loaded"  // none yet: the service would carry more load
	Unknown     Bound = "unknown"
)

// Diagnosis is the verdict on one variant.
type Diagnosis struct {
	Variant string `json:"variant,omitempty"`
	Valid   bool   `json:"valid"`
	Reason  string `json:"reason"` // why it is not valid; empty if it is
	Bound   Bound  `json:"bound_by"`
	// false: other processes may have contributed, or no cause was found
	Confirmed bool `json:"confirmed"`
	// what disturbed the measurement; empty: nothing
	Disturbed string `json:"disturbed,omitempty"`
	// of a wait or a lock: pool, network, disk, channel, timer, accept, mutex, ...
	Kind          string         `json:"kind,omitempty"`
	Also          []Bound        `json:"also"` // further bounds that reached their own threshold
	Where         []Place        `json:"where"`
	InWords       string         `json:"in_words"`
	Evidence      []Evidence     `json:"evidence"`
	Interventions []Intervention `json:"interventions"`
	Findings      []Finding      `json:"findings"`
	// of a ladder's step: why its throughput changed, or did not
	Moved        string  `json:"moved,omitempty"`
	CapacityPerS float64 `json:"capacity_per_s"` // under the SLO; 0: not measured
	PeakPerS     float64 `json:"peak_per_s"`     // highest throughput of the closed loop
	// of the process that it calls, if it was measured
	Downstream *Diagnosis `json:"downstream,omitempty"`
	// what could not be measured, and what would make it visible
	Unseen   []string `json:"unseen"`
	Warnings []string `json:"warnings"`
	Signals  Signals  `json:"signals"` // input of the rules
}

// Parts of a Diagnosis.
type (
	Place    = findings.Place
	Evidence = findings.Evidence
	Finding  = findings.Finding
)

// Intervention is an experiment whose outcome a verdict predicted.
type Intervention struct {
	Changed   string `json:"changed"`
	Predicted string `json:"predicted"`
	Saw       string `json:"saw"`
	Held      bool   `json:"held"` // the prediction came true

	undecided bool // the prediction failed, but a disturbance may be the cause
}

// Subject is the runs of one variant on which its diagnosis is based.
type Subject struct {
	Variant    string
	Saturated  []*record.Run // role saturate, in order: one client first
	Repeated   []*record.Run // the last of them repeated after the intervention
	Profiled   *record.Run   // role profile; nil: none
	Intervened []*record.Run // role intervene, in order
	Other      []*record.Run // the variant's other runs
}
