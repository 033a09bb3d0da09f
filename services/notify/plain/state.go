package main

import (
	"container/list"
	"slices"
	"strings"
	"time"
)

// definition is what a client asked for and may change.
type definition struct {
	ID       string    `json:"id"`
	URL      string    `json:"url"`
	Types    []string  `json:"types,omitempty"` // exact, or a prefix and ".*"; none: all
	Batch    int       `json:"batch"`           // asked for, but this program sends one notice per webhook
	Created  time.Time `json:"created"`
	Secrets  []secret  `json:"secrets"`            // the newest first
	Disabled string    `json:"disabled,omitempty"` // why it gets nothing; "": it does
}

// counts are per (notice, subscription). Accepted equals Delivered + Dead + what is pending.
type counts struct {
	Accepted  int64 `json:"accepted"`
	Delivered int64 `json:"delivered"`
	Retried   int64 `json:"retried"` // attempts after the first
	Dead      int64 `json:"dead"`
	Refused   int64 `json:"refused"` // since the process began
	Purged    int64 `json:"purged"`  // of the dead: their letters were deleted, by hand or to make room
}

func (c *counts) add(o counts) {
	c.Accepted += o.Accepted
	c.Delivered += o.Delivered
	c.Retried += o.Retried
	c.Dead += o.Dead
	c.Refused += o.Refused
	c.Purged += o.Purged
}

// subscription is one receiver of notices. It is guarded by server.mu.
type subscription struct {
	definition
	signers []signer         // by the secrets
	lanes   map[string]*lane // by key
	pending map[uint64]*lane // by the number of the notice
	letters []*letter        // dead, by number
	counts

	inFlight   int
	lastStatus int
	lastError  string
}

// lane is what one subscription is still to get of one key, in order. Once set in motion a lane is in the
// ready channel, with a worker, or on a timer: never in two places, so one webhook at most is in flight per
// key. Whoever has it and finds it empty removes it.
type lane struct {
	sub   *subscription
	key   string
	items []item
	tries int       // failed ones at the first item
	next  time.Time // of the next attempt at it; zero: at once
	timer *time.Timer
}

type item struct {
	notice *notice
	since  *list.Element // its place in server.oldest
}

// letter is a dead letter.
type letter struct {
	Notice    *notice   `json:"-"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`
	Status    int       `json:"status,omitempty"`
	Died      time.Time `json:"died"`
	Replaying bool      `json:"-"`
}

// wants says whether the subscription is to get notices of a type.
func (sub *subscription) wants(kind string) bool {
	if sub.Disabled != "" || len(sub.Types) == 0 {
		return sub.Disabled == ""
	}
	return slices.ContainsFunc(sub.Types, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return pattern == kind || open && strings.HasPrefix(kind, prefix)
	})
}

// enqueue appends a notice to its lane.
func (s *server) enqueue(sub *subscription, n *notice, since time.Time) {
	l := sub.lanes[n.Key]
	if l == nil {
		l = &lane{sub: sub, key: n.Key}
		sub.lanes[n.Key] = l
		if s.ready != nil { // else launch does it
			s.lanes++
			s.ready <- l // never blocks: it has room for as many lanes as there may be
		}
	}
	l.items = append(l.items, item{n, s.oldest.PushBack(since)})
	sub.pending[n.Seq] = l
	s.bytes += n.size()
}

// dequeue takes a notice off its lane.
func (s *server) dequeue(sub *subscription, seq uint64) (*notice, bool) {
	l := sub.pending[seq]
	if l == nil {
		return nil, false
	}
	i := slices.IndexFunc(l.items, func(it item) bool { return it.notice.Seq == seq })
	it := l.items[i]
	if i == 0 {
		l.items[0] = item{} // for the garbage collector
		l.items, l.tries, l.next = l.items[1:], 0, time.Time{}
	} else {
		l.items = slices.Delete(l.items, i, i+1)
	}
	if len(l.items) == 0 && s.ready == nil {
		delete(sub.lanes, l.key) // it was never set in motion
	}
	delete(sub.pending, seq)
	s.oldest.Remove(it.since)
	s.bytes -= it.notice.size()
	s.checkDrained()
	return it.notice, true
}

// findLetter returns the place of a dead letter, or where it would be.
func (sub *subscription) findLetter(seq uint64) (at int, found bool) {
	return slices.BinarySearchFunc(sub.letters, seq, func(l *letter, seq uint64) int {
		if l.Notice.Seq == seq {
			return 0
		} else if l.Notice.Seq < seq {
			return -1
		}
		return 1
	})
}

func (s *server) addLetter(sub *subscription, l *letter) {
	s.dropLetter(sub, l.Notice.Seq) // it had been dead before, and was replayed
	at, _ := sub.findLetter(l.Notice.Seq)
	sub.letters = slices.Insert(sub.letters, at, l)
	s.letterBytes += l.Notice.size()
}

func (s *server) dropLetter(sub *subscription, seq uint64) bool {
	at, found := sub.findLetter(seq)
	if found {
		s.letterBytes -= sub.letters[at].Notice.size()
		sub.letters = slices.Delete(sub.letters, at, at+1)
	}
	return found
}

// maxSeen is how many ids are remembered, to tell a notice that comes again.
const maxSeen = 100_000

// seen remembers the last ids.
type seen struct {
	by   map[string]seenID // by id
	ring []seenID          // a ring: the oldest is at from
	from int
}

type seenID struct {
	ID   string `json:"id"`
	Seq  uint64 `json:"seq"`
	Hash uint64 `json:"hash,omitempty"` // of the notice; 0: an older version wrote this, and anything is the same
}

func (n *notice) seenAs() seenID { return seenID{n.ID, n.Seq, n.hash()} }

func (s *seen) add(one seenID) {
	if s.by == nil {
		s.by = map[string]seenID{}
	}
	if len(s.ring) < maxSeen {
		s.ring = append(s.ring, one)
	} else {
		delete(s.by, s.ring[s.from].ID)
		s.ring[s.from] = one
		s.from = (s.from + 1) % maxSeen
	}
	s.by[one.ID] = one
}

// list returns all, the oldest first.
func (s *seen) list() []seenID { return slices.Concat(s.ring[s.from:], s.ring[:s.from]) }
