// Package findings reports improvements to a service other than its main bottleneck: the places of
// its CPU time and allocations per request, the locks, pools and queues its requests wait for, its
// leaks, and the decisions of an autoscaler. Each finding has its evidence, a place in the code and
// the experiment to try next, and appears only above a threshold with a stated reason.
//
// Every function depends only on recorded data. The package is not for the verdict (package
// diagnose), nor for planning or starting the experiments that it names. It starts no goroutines.
package findings

import (
	"cmp"
	"slices"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
	"dyno/lab/record"
)

// Evidence is one figure with its meaning.
type Evidence struct {
	Signal string  `json:"signal"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Means  string  `json:"means"`
}

// Finding is a possible improvement other than the main bottleneck, with the experiment to try
// next.
type Finding struct {
	Kind     string        `json:"kind"` // one of the Kind constants
	Text     string        `json:"in_words"`
	Evidence []Evidence    `json:"evidence,omitempty"`
	Sites    []stacks.Site `json:"where,omitempty"`
	Next     string        `json:"next"` // the experiment to try, as a command if there is one
	// record.Profile...: the profile whose flame graph shows it
	Profile string `json:"profile,omitempty"`
	// Removes is what a request no longer costs without the finding; zero: that was not measured.
	Removes whatif.Removal `json:"-"`
	// WhatIf is the most that this brings; nil: not estimated.
	WhatIf *whatif.Estimate `json:"what_if,omitempty"`

	// worth estimates the share of a request's cost or of the capacity at stake; 1: an outage.
	worth float64
}

// Kinds of finding.
const (
	KindHotPath      = "hot-path"
	KindAllocations  = "allocations"
	KindContention   = "contention"
	KindQueue        = "queue" // requests wait for the goroutines behind a channel or condition
	KindGCPauses     = "gc-pauses"
	KindGoroutines   = "goroutine-leak"
	KindHeap         = "heap-leak"
	KindPool         = "pool-starvation"
	KindConnections  = "connections-not-reused"
	KindStatements   = "statements-not-reused"
	KindDeadlines    = "deadline-not-passed-on"
	KindHandshakes   = "tls-handshakes"
	KindAcceptQueue  = "accept-queue"
	KindSyscalls     = "system-calls"
	KindCacheMisses  = "cache-misses"
	KindTLBMisses    = "tlb-misses"
	KindSpinning     = "busy-waiting"
	KindAutoscaler   = "autoscaler"
	KindConnectLimit = "connection-limit"
	KindLimit        = "limit" // a resource that a job reported waiting for
)

// Subject is the runs of one variant from which findings are made.
type Subject struct {
	Experiment *record.Experiment // may be nil
	Variant    string
	Saturated  []*record.Run // role saturate
	Profiled   *record.Run   // role profile; nil: none
	Other      []*record.Run // the variant's other runs, such as a capacity search's, at constant rates
}

// finders run in this order; their findings are sorted by worth.
var finders = []func(*figures) []Finding{
	goroutineLeak, heapLeak,
	hotPath, allocations, contention, queues, pools, spinning, syscalls, misses,
	gcPauses, connections, statements, handshakes, deadlines, acceptQueue,
	autoscaler, connectionLimit, ownLimits,
}

// Find returns all findings about a subject, the one with the highest worth first. Without a
// profiled run it returns those that the runs' series and totals show.
func Find(s Subject) []Finding {
	l := readFigures(s)
	out := []Finding{}
	for _, find := range finders {
		out = append(out, find(l)...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(b.worth, a.worth) })
	return out
}

// Unseen lists what the findings could not measure, and what would make it visible.
func Unseen(s Subject) []string {
	for _, r := range readFigures(s).counted {
		if r.System.Seen && r.System.CacheMisses > 0 {
			return nil
		}
	}
	return []string{"cache and TLB misses per request: not permitted here; on a machine with performance counters, sysctl kernel.perf_event_paranoid=1 or CAP_PERFMON would permit it"}
}
