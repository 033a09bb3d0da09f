// Package diagnose names the bottleneck of a service at the load where its throughput stops rising,
// with the place in the code, the evidence, and the result of an intervention. It reads signals
// from recorded runs (package record), and package rules decides by them. If the evidence does not
// suffice, the answer is Unknown and lists what is missing. Plan says which runs it needs.
//
// Every function depends only on recorded data. The package is not for taking profiles or changing
// settings (the executor does), or for finding the capacity (package capacity). It starts no
// goroutines.
package diagnose

import (
	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// Diagnosis is the verdict on one variant.
type Diagnosis struct {
	Variant    string           `json:"variant,omitempty"`
	Valid      bool             `json:"valid"`
	Reason     string           `json:"reason"` // why it is not valid; empty if it is
	Bottleneck rules.Bottleneck `json:"bound_by"`
	// Confirmed: the evidence, an experiment and the estimate agree, and no other process may have
	// contributed. Unconfirmed says what is missing for that; empty if no cause was found.
	Confirmed   bool   `json:"confirmed"`
	Unconfirmed string `json:"unconfirmed,omitempty"`
	// what disturbed the measurement; empty: nothing
	Disturbed string `json:"disturbed,omitempty"`
	// of a wait or a lock: pool, network, disk, channel, timer, accept, mutex, ...
	Kind  string             `json:"kind,omitempty"`
	Also  []rules.Bottleneck `json:"also"` // further bounds that reached their own threshold
	Sites []stacks.Site      `json:"where"`
	Text  string             `json:"in_words"`
	// Headline is the verdict in one sentence, and Next what to try; empty: nothing is known.
	Headline string `json:"headline,omitempty"`
	Next     string `json:"next,omitempty"`
	// Sheds says with how many clients the service refused or failed requests, and how; empty: it
	// answered nearly all.
	Sheds         string              `json:"sheds,omitempty"`
	Evidence      []findings.Evidence `json:"evidence"`
	Interventions []Intervention      `json:"interventions"`
	Findings      []findings.Finding  `json:"findings"`
	// WhatIf is the most that removing the bottleneck brings; nil: not estimated.
	WhatIf *whatif.Estimate `json:"what_if,omitempty"`
	// of a ladder's step: why its throughput changed, or did not
	Moved        string  `json:"moved,omitempty"`
	CapacityPerS float64 `json:"capacity_per_s"` // under the SLO; 0: not measured
	PeakPerS     float64 `json:"peak_per_s"`     // highest throughput of the closed loop
	// of the process that it calls, if it was measured
	Downstream *Diagnosis `json:"downstream,omitempty"`
	// what could not be measured, and what would make it visible
	Unseen   []string      `json:"unseen"`
	Warnings []string      `json:"warnings"`
	Signals  rules.Signals `json:"signals"` // input of the rules

	facts       whatif.Facts
	memoryLimit facts.MemoryLimit
	// unbranched: the CPU time is spread over many functions, and no branch of the calls has much of it
	unbranched bool
	behind     stacks.WaitKind // for what the goroutine that ends the requests' waits waits itself; empty: not seen
}

// Intervention is an experiment whose outcome a verdict predicted.
type Intervention struct {
	Changed   string `json:"changed"`
	Predicted string `json:"predicted"`
	Saw       string `json:"saw"`
	Held      bool   `json:"held"` // the prediction came true

	times     float64 // the throughput before
	undecided bool    // the prediction failed, but a disturbance may be the cause
}

// Subject is the runs of one variant on which its diagnosis is based.
type Subject struct {
	Variant    string
	Saturated  []*record.Run   // role saturate, in order: one client first
	Repeated   []*record.Run   // the last of Saturated, repeated after the intervention
	Profiled   *record.Run     // role profile; nil: none
	Intervened []*record.Run   // role intervene, in order
	Other      []*record.Run   // the variant's other runs
	Peak       []*record.Slice // of peak work; nil: there are none
}
