package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is a kind of violation.
type Kind string

// The kinds of violations.
const (
	Stale      Kind = "stale"      // older than a version acknowledged before the read began
	Backwards  Kind = "backwards"  // older than a version the same reader has received
	Unwritten  Kind = "unwritten"  // a version that was never committed, or was rolled back
	Torn       Kind = "torn"       // not the contents of that version
	Foreign    Kind = "foreign"    // another order, or another account's
	Missing    Kind = "missing"    // not found, although it was acknowledged
	Disordered Kind = "disordered" // an unsorted list, or one with orders that were not requested
	Unasked    Kind = "unasked"    // marked stale without permission
	Repeated   Kind = "repeated"   // a submission accepted twice
	Unaudited  Kind = "unaudited"  // not exactly one audit record for a submitted order
	Unexpected Kind = "unexpected" // an unexpected status
	Garbled    Kind = "garbled"    // an answer in another format than this API's
)

// Kinds lists all kinds.
var Kinds = []Kind{Stale, Backwards, Unwritten, Torn, Foreign, Missing, Disordered, Unasked, Repeated, Unaudited, Unexpected, Garbled}

// Verdict is the result of a history.
type Verdict struct {
	Reads       int // single orders; sum of the five counters below, without Unavailable
	Found       int // answered with the order
	Unchanged   int // 304
	Refused     int // another account's order
	Absent      int // the order did not exist
	Behind      int // 409: the version did not exist yet
	MarkedStale int // answers marked stale, with permission
	Lists       int // pages
	Listed      int // rows in them
	Submitted   int // acknowledged submissions, each counted once
	Duplicates  int // further acknowledgements
	Unavailable int // 503
	Broken      map[Kind]int
	Stories     []string // of the first violations
}

// maxStories limits the stories: the first ones say enough.
const maxStories = 20

// OK reports whether there is no violation.
func (v *Verdict) OK() bool { return len(v.Broken) == 0 }

// Error describes the violations, with the stories; nil means none.
func (v *Verdict) Error() error {
	if v.OK() {
		return nil
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(v.Broken)) {
		kinds = append(kinds, fmt.Sprintf("%d %s", v.Broken[k], k))
	}
	return errors.New(strings.Join(kinds, ", ") + "\n  " + strings.Join(v.Stories, "\n  "))
}

// Verdict returns the result so far.
func (h *History) Verdict() Verdict {
	h.reporting.Lock()
	defer h.reporting.Unlock()
	v := h.verdict
	v.Broken, v.Stories = maps.Clone(v.Broken), slices.Clone(v.Stories)
	return v
}

// OK reports whether there is no violation so far.
func (h *History) OK() bool {
	h.reporting.Lock()
	defer h.reporting.Unlock()
	return h.verdict.OK()
}

// Unavailable counts a list or a submission that was answered with 503.
func (h *History) Unavailable() { h.count(func(v *Verdict) { v.Unavailable++ }) }

// Break records a violation.
func (h *History) Break(kind Kind, format string, args ...any) {
	h.reporting.Lock()
	defer h.reporting.Unlock()
	if h.verdict.Broken[kind]++; len(h.verdict.Stories) < maxStories {
		h.verdict.Stories = append(h.verdict.Stories, string(kind)+": "+fmt.Sprintf(format, args...))
	}
}

// count updates the counters.
func (h *History) count(what func(v *Verdict)) {
	h.reporting.Lock()
	defer h.reporting.Unlock()
	what(&h.verdict)
}
