package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is a way to answer wrongly.
type Kind string

// What can be wrong.
const (
	Stale      Kind = "stale"      // older than what was acknowledged before the read began
	Backwards  Kind = "backwards"  // older than what the same reader had seen before
	Unwritten  Kind = "unwritten"  // a version that nobody committed, or that was rolled back
	Torn       Kind = "torn"       // not what that version holds
	Foreign    Kind = "foreign"    // another order, or another account's
	Missing    Kind = "missing"    // not there, although it was acknowledged
	Disordered Kind = "disordered" // a list that is not in order, or holds what was not asked for
	Unasked    Kind = "unasked"    // marked stale without leave
	Repeated   Kind = "repeated"   // a submission that was taken twice
	Unaudited  Kind = "unaudited"  // not exactly one audit record to a submitted order
	Unexpected Kind = "unexpected" // another status than there is to be
	Garbled    Kind = "garbled"    // no answer of this API
)

// Kinds are all of them.
var Kinds = []Kind{Stale, Backwards, Unwritten, Torn, Foreign, Missing, Disordered, Unasked, Repeated, Unaudited, Unexpected, Garbled}

// Verdict is what a history says.
type Verdict struct {
	Reads       int // of single orders, all that follow included but for Unavailable
	Found       int // answered with the order
	Unchanged   int // 304
	Refused     int // another account's order
	Absent      int // there was none
	Behind      int // 409: no such version yet
	MarkedStale int // answers that said so, as they were allowed to
	Lists       int // pages
	Listed      int // rows in them
	Submitted   int // acknowledged, each once
	Duplicates  int // acknowledged again
	Unavailable int // 503
	Broken      map[Kind]int
	Stories     []string // of the first that were wrong
}

// maxStories are kept: the first say enough.
const maxStories = 20

// OK says that nothing is wrong.
func (v *Verdict) OK() bool { return len(v.Broken) == 0 }

// Error says what is wrong, with the stories; nil when nothing is.
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

// Verdict returns what is known so far.
func (h *History) Verdict() Verdict {
	h.telling.Lock()
	defer h.telling.Unlock()
	v := h.verdict
	v.Broken, v.Stories = maps.Clone(v.Broken), slices.Clone(v.Stories)
	return v
}

// OK says that nothing is wrong so far.
func (h *History) OK() bool {
	h.telling.Lock()
	defer h.telling.Unlock()
	return h.verdict.OK()
}

// Unavailable counts a list or a submission that was answered with 503.
func (h *History) Unavailable() { h.count(func(v *Verdict) { v.Unavailable++ }) }

// Break adds something that is wrong.
func (h *History) Break(kind Kind, format string, args ...any) {
	h.telling.Lock()
	defer h.telling.Unlock()
	if h.verdict.Broken[kind]++; len(h.verdict.Stories) < maxStories {
		h.verdict.Stories = append(h.verdict.Stories, string(kind)+": "+fmt.Sprintf(format, args...))
	}
}

// count adds to what went well.
func (h *History) count(what func(v *Verdict)) {
	h.telling.Lock()
	defer h.telling.Unlock()
	what(&h.verdict)
}
