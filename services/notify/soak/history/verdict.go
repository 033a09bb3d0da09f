package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is a way to break a promise.
type Kind string

// What can be wrong.
const (
	Lost         Kind = "lost"          // acknowledged, wanted, and neither delivered nor dead
	Reordered    Kind = "out of order"  // of one key, to one subscription
	Repeated     Kind = "repeated"      // delivered twice although no crash came between
	Excess       Kind = "excess"        // more duplicates after a crash than were in flight
	HalfBatch    Kind = "half a batch"  // stored in part
	Renumbered   Kind = "renumbered"    // one notice, two numbers
	SeqReused    Kind = "number reused" // two notices, one number, or a number that is not after those before
	Forgotten    Kind = "forgotten"     // acknowledged or delivered, and then taken for new
	Unwanted     Kind = "unwanted"      // to a subscription that did not want it or was gone
	Invented     Kind = "invented"      // no client posted it
	Definitions  Kind = "subscriptions" // not as they were acknowledged
	Miscounted   Kind = "miscounted"    // the dispatcher's own account is wrong
	Faulty       Kind = "faulty"        // Faults
	Unterminated Kind = "unterminated"  // the history itself has no end: nothing can be said
)

// Crash is what a crash did.
type Crash struct {
	Process    int
	Duplicates int // notices delivered before it and again after it
	Bound      int // how many these may be
}

// Verdict is what a history says.
type Verdict struct {
	Acknowledged int // notices
	Deliveries   int // answered with 2xx, duplicates included, one per notice and subscription
	Dead         int
	Duplicates   int
	Bound        int // the sum of the crashes'
	Crashes      []Crash
	Broken       map[Kind]int
	Examples     []string // of what is broken, the first of each kind
}

// OK says that nothing is wrong.
func (v *Verdict) OK() bool { return len(v.Broken) == 0 }

// maxExamples are kept of each kind.
const maxExamples = 5

func (v *Verdict) breaks(kind Kind, format string, args ...any) {
	if v.Broken[kind]++; v.Broken[kind] <= maxExamples {
		v.Examples = append(v.Examples, string(kind)+": "+fmt.Sprintf(format, args...))
	}
}

// Error says what is broken, with examples; nil when nothing is.
func (v *Verdict) Error() error {
	if v.OK() {
		return nil
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(v.Broken)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", v.Broken[k], k))
	}
	return fmt.Errorf("%s\n  %s", strings.Join(kinds, ", "), strings.Join(v.Examples, "\n  "))
}
