// Package findings says what else is worth knowing about a service besides what bounds it: where its CPU
// time and its allocations go per request, which locks, pools and queues its requests wait for, what leaks,
// what an autoscaler would make of it. Each finding comes with its evidence, a place in the code and the
// experiment to try next; each is made only when it matters, by a threshold that states its reason.
//
// It is pure: it reads what runs recorded and nothing else. It is not for the verdict (diagnose), and it
// does not plan or start the experiments that it names. It starts no goroutines.
package findings

import (
	"cmp"
	"slices"

	"dyno/lab/record"
)

// Place is a place in the code.
type Place struct {
	Function string  `json:"function"`
	File     string  `json:"file"`
	Line     int     `json:"line"`
	Share    float64 `json:"share"` // of what the finding is about: CPU time, allocated bytes, waiting time, growth
	// Cumulative says that the share includes what it calls, of the program's own code too.
	Cumulative bool `json:"cumulative,omitempty"`
}

// Evidence is one figure and what it means.
type Evidence struct {
	Signal string  `json:"signal"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Means  string  `json:"means"`
}

// Finding is something worth knowing besides the bound, with the experiment to try next.
type Finding struct {
	Kind     string     `json:"kind"` // Kind...
	InWords  string     `json:"in_words"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Where    []Place    `json:"where,omitempty"`
	Next     string     `json:"next"`              // the experiment to try, as a command where there is one
	Profile  string     `json:"profile,omitempty"` // record.Profile...: the flame graph that shows it

	// worth is about what share of a request's cost or of the capacity is at stake; 1: an outage.
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
	KindLimit        = "limit" // what a job says it waited for
)

// Subject is the runs of one variant that findings are made of.
type Subject struct {
	Experiment *record.Experiment // may be nil
	Variant    string
	Saturated  []*record.Run // role saturate
	Profiled   *record.Run   // role profile; nil: none was taken
	Others     []*record.Run // the variant's other runs, such as a capacity search's, at constant rates
}

// finders are asked in this order; what they find is sorted by what it may be worth.
var finders = []func(*look) []Finding{
	goroutineLeak, heapLeak,
	hotPath, allocations, contention, queues, pools, spinning, syscalls, misses,
	gcPauses, connections, statements, handshakes, deadlines, acceptQueue,
	autoscaler, connectionLimit, limits,
}

// Find makes all findings about a subject, the one that may be worth most first. Without a profiled run
// those remain that the runs' series and totals show.
func Find(s Subject) []Finding {
	l := newLook(s)
	out := []Finding{}
	for _, find := range finders {
		out = append(out, find(l)...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(b.worth, a.worth) })
	return out
}

// Unseen says what findings would have looked at and could not, and what would make it visible.
func Unseen(s Subject) []string {
	for _, r := range newLook(s).counted {
		if r.Environment.Seen && r.Environment.CacheMisses > 0 {
			return nil
		}
	}
	return []string{"cache and TLB misses per request: not permitted here; on a machine with performance counters, sysctl kernel.perf_event_paranoid=1 or CAP_PERFMON would permit it"}
}
