// Package subscription is the domain on which the dispatcher stands: what a subscription wants,
// where it is in the log of notices, what it has not got yet, its dead letters and its counts. It
// decides nothing, keeps nothing and starts no goroutines; services/notify/dispatch changes
// subscriptions, and services/notify/journal remembers them.
package subscription

import (
	"slices"
	"time"
)

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

// InForce reports whether the secret signs at a time.
func (s Secret) InForce(now time.Time) bool { return s.Until.IsZero() || now.Before(s.Until) }

// Counts are per (notice, subscription). Accepted equals Delivered + Dead + what is pending. A dead
// letter that is replayed is pending again and no longer dead.
type Counts struct {
	Accepted  int64 `json:"accepted"`
	Delivered int64 `json:"delivered"`
	Retried   int64 `json:"retried"` // attempts after the first
	Dead      int64 `json:"dead"`    // given up: all attempts failed, its subscription went, or it was kept too long
	Refused   int64 `json:"refused"` // answered 429; since the process began
	Purged    int64 `json:"purged"`  // of the dead: deleted by hand, or to make room
	Lost      int64 `json:"lost"`    // of the dead: not to be read any more, since a log is damaged
}

// Position is where a subscription stands in the log of notices, at one moment.
type Position struct {
	Definition
	Filters []Filter  // what it wanted from which number on, oldest first; the last is Definition.Types
	Loaded  uint64    // notices from this number on had not been loaded into memory
	Waiting []Waiting // before Loaded: not yet delivered, in order; without letters that are replayed
	Backlog int64     // notices from Loaded on and before Routed that it should get
	Routed  uint64    // the first number that it had not been considered for
	Counts  Counts

	// After a restart, until the backlog was read so far: what came of numbers from Loaded on.
	AckedAhead []uint64  // delivered or dead, though Backlog counts them
	TriedAhead []Waiting // tried in vain
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
	Next  time.Time // of the next attempt, to the millisecond; zero: as soon as can be
}

// Recovered is what the journal knows of one subscription when it is opened. Waiting and Counts of
// its Position are those after the last event; Counts.Accepted and Backlog are as of the last
// checkpoint: the dispatcher counts what was routed since Routed from the notices.
type Recovered struct {
	Position
	Acked  map[uint64]bool    // numbers from Loaded on: delivered or dead
	Failed map[uint64]Waiting // numbers from Loaded on: tried, and neither delivered nor dead
}

// DeadLetter is a dead letter: a notice that one subscription does not get unless a client replays
// it.
type DeadLetter struct {
	Seq       uint64    `json:"seq"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`         // since it was accepted; of one that was replayed, since then
	Status    int       `json:"status,omitempty"` // of the last answer
	DeadAt    time.Time `json:"died"`             // to the millisecond
	Size      int       `json:"size"`             // bytes of the notice's record
	Replaying bool      `json:"replaying,omitempty"`

	Retry Waiting `json:"-"` // of one that is replayed: what failed since, and when it is tried again
	Where uint64  `json:"-"` // the number of the journal's event that holds the notice's record; 0: it is being written
}

// Plus adds counts up.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		Accepted:  c.Accepted + o.Accepted,
		Delivered: c.Delivered + o.Delivered,
		Retried:   c.Retried + o.Retried,
		Dead:      c.Dead + o.Dead,
		Refused:   c.Refused + o.Refused,
		Purged:    c.Purged + o.Purged,
		Lost:      c.Lost + o.Lost,
	}
}

// Redefine gives a subscription another definition, which holds for notices from a number on. It is
// what Put does to the position that the journal keeps.
func (p *Position) Redefine(d Definition, from uint64) {
	f := Filter{From: from, Types: d.Types}
	if d.Disabled != "" {
		f = Filter{From: from, None: true}
	}
	p.Definition = d
	switch n := len(p.Filters); {
	case n > 0 && p.Filters[n-1].None == f.None && slices.Equal(p.Filters[n-1].Types, f.Types):
	case n > 0 && p.Filters[n-1].From >= from: // no notice came under the last one
		p.Filters[n-1] = f
	default:
		p.Filters = append(p.Filters, f)
	}
}

// Needs is the first notice that the subscription may still have to get.
func (p *Position) Needs() uint64 {
	low := p.Loaded
	for _, w := range p.Waiting {
		low = min(low, w.Seq)
	}
	return low
}

// DropFilters forgets what the subscription wanted of notices before Needs.
func (p *Position) DropFilters() {
	low := p.Needs()
	for len(p.Filters) > 1 && p.Filters[1].From <= low {
		p.Filters = p.Filters[1:]
	}
}
