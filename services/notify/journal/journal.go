// Package journal remembers what the dispatcher must know after a crash beyond the notices themselves: the
// subscriptions, which notices each has got, which attempts have failed, what is dead. It is a log of
// events (parts/wal) and a fold over them: State is what the events add up to. Checkpoints keep it short.
//
// It decides nothing: what becomes of a notice, the dispatcher says. It starts no goroutines; the log's are
// the log's.
package journal

import "time"

// Definition is what a client asked for and may change.
type Definition struct {
	ID          string    `json:"id"`
	URL         string    `json:"url"`
	Types       []string  `json:"types,omitempty"` // exact, or a prefix and ".*"; none: all
	Secrets     []Secret  `json:"secrets"`         // the first signs from now on; the others until they expire
	RatePerS    float64   `json:"rate_per_s,omitempty"`
	Concurrency int       `json:"concurrency,omitempty"`
	Batch       int       `json:"batch,omitempty"`
	Disabled    string    `json:"disabled,omitempty"` // why it gets nothing at present; "": it does
	Created     time.Time `json:"created"`
}

// Secret is one key for signatures.
type Secret struct {
	Key   []byte    `json:"key"`
	Until time.Time `json:"until,omitzero"` // zero: for good
}

// Counts are per (notice, subscription). Accepted equals Delivered + Dead + what is pending. A dead letter
// that is replayed is pending again and no longer dead.
type Counts struct {
	Accepted  int64 `json:"accepted"`
	Delivered int64 `json:"delivered"`
	Retried   int64 `json:"retried"` // attempts after the first
	Dead      int64 `json:"dead"`    // given up: all attempts failed, its subscription went, or it was kept too long
	Refused   int64 `json:"refused"` // answered 429; since the process began
	Purged    int64 `json:"purged"`  // of the dead: deleted by hand, or to make room
}

// Position is where a subscription stands in the log of notices, at one moment.
type Position struct {
	Definition
	Filters []Filter  // what it wanted from which number on, oldest first; the last is Definition.Types
	Loaded  uint64    // notices from this number on had not been loaded into memory
	Waiting []Waiting // before Loaded: not yet delivered, in order
	Backlog int64     // notices at or after Loaded that it is to get, of those before Routed
	Routed  uint64    // the first number that it had not been considered for
	Counts  Counts
}

// Filter is what a subscription wants of the notices from a number on.
type Filter struct {
	From  uint64   `json:"from"`
	Types []string `json:"types,omitempty"` // none: all
	None  bool     `json:"none,omitempty"`  // nothing: it is disabled
}

// Waiting is one notice that one subscription has not got yet.
type Waiting struct {
	Seq   uint64
	Tries int       // failed ones
	Next  time.Time // of the next attempt; zero: as soon as can be
}

// Letter is a dead letter: a notice that one subscription will not get unless somebody replays it.
type Letter struct {
	Seq       uint64    `json:"seq"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`
	Status    int       `json:"status,omitempty"` // of the last answer
	Died      time.Time `json:"died"`
	Size      int       `json:"size"` // bytes of the notice's record
	Replaying bool      `json:"replaying,omitempty"`

	Where uint64 `json:"-"` // the number of the event that holds the notice's record
}
