// Package diagnose says what bounds a service where its throughput stops rising: in words, with the place
// in the code, the evidence, and what an intervention showed. It reads what runs recorded (record) and
// decides by rules that are data, in order (rules.go), with thresholds that each name the experiment that
// set them (thresholds.go). Where the evidence does not suffice the answer is Unknown, and says what is
// missing.
//
// It is pure: it starts nothing, asks no process and plans runs only in the sense of naming the next one
// (Plan). Taking profiles and changing settings is the executor's work, finding the capacity is
// capacity's. It starts no goroutines.
package diagnose

import (
	"dyno/lab/diagnose/findings"
	"dyno/lab/record"
)

// Bound is what keeps a service from carrying more.
type Bound string

// Bounds.
const (
	CPU         Bound = "cpu"         // computing
	GC          Bound = "gc"          // allocating and collecting
	Lock        Bound = "lock"        // waiting for, or spinning on, a lock
	Syscall     Bound = "syscall"     // work in the kernel on the service's behalf
	Wait        Bound = "wait"        // waiting for something that is not a lock: a pool, a downstream, a disk, one consumer, a timer
	Generator   Bound = "generator"   // the load generator: the service could carry more
	Environment Bound = "environment" // other processes on the machine
	NotLoaded   Bound = "not-loaded"  // nothing yet: more load would be carried
	Unknown     Bound = "unknown"
)

// Diagnosis is the answer.
type Diagnosis struct {
	Variant       string         `json:"variant,omitempty"`
	Valid         bool           `json:"valid"`
	Reason        string         `json:"reason"` // why it is not valid; empty: it is
	Bound         Bound          `json:"bound_by"`
	Confirmed     bool           `json:"confirmed"`           // false: neighbours may have had a part in it, or it is no cause
	Disturbed     string         `json:"disturbed,omitempty"` // what disturbed the measurement; empty: nothing
	Kind          string         `json:"kind,omitempty"`      // of a wait or a lock, more precisely: pool, network, disk, channel, timer, accept, mutex, ...
	Also          []Bound        `json:"also"`                // further causes that passed their own bar
	Where         []Place        `json:"where"`
	InWords       string         `json:"in_words"`
	Evidence      []Evidence     `json:"evidence"`
	Interventions []Intervention `json:"interventions"`
	Findings      []Finding      `json:"findings"`
	Moved         string         `json:"moved,omitempty"`      // of a ladder's step: why it moved the capacity, or did not
	CapacityPerS  float64        `json:"capacity_per_s"`       // under the SLO; 0: there is none, or none was found
	PeakPerS      float64        `json:"peak_per_s"`           // highest throughput of the closed loop
	Downstream    *Diagnosis     `json:"downstream,omitempty"` // of the process that it calls, where that was looked into
	Unseen        []string       `json:"unseen"`               // what could not be looked at, and what would make it visible
	Warnings      []string       `json:"warnings"`
	Signals       Signals        `json:"signals"` // what the rules read
}

// What an answer is made of.
type (
	Place    = findings.Place
	Evidence = findings.Evidence
	Finding  = findings.Finding
)

// Intervention is an experiment that a verdict made a prediction for.
type Intervention struct {
	Changed   string `json:"changed"`
	Predicted string `json:"predicted"`
	Saw       string `json:"saw"`
	Held      bool   `json:"held"` // the prediction came true

	undecided bool // it did not, and may not be blamed
}

// Subject is the runs of one variant that its diagnosis rests on.
type Subject struct {
	Variant    string
	Saturated  []*record.Run // role saturate, in order: one client first
	Again      []*record.Run // the last of them repeated, after the intervention
	Profiled   *record.Run   // role profile; nil: none was taken
	Intervened []*record.Run // role intervene, in order
	Others     []*record.Run // what else was measured of the variant
}
