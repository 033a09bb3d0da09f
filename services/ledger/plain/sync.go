package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"dyno/parts/progress"
)

// syncer works through a range from its top down.
type syncer struct {
	db     *store
	ask    ask
	client *client
	watch  *progress.Writer // nil: nobody looks

	began              time.Time
	ledgers, refetched int
	bytes              int64
	took               []time.Duration // of each request
	fetching           time.Duration   // in all
	hashing, storing   time.Duration
	blamed             map[string]int // how often, by reason
	missing            uint32         // a ledger that the server does not have, or not rightly; 0: none
}

// newSyncer takes up what is asked for, or what was asked for last when nothing is.
func newSyncer(db *store, a ask) (*syncer, error) {
	last, found, err := db.lastAsk()
	if err != nil {
		return nil, err
	}
	if a.Server == "" {
		a.Server = last.Server
	}
	if a.From == 0 && a.To == 0 {
		a.From, a.To = last.From, last.To
	}
	if a.Anchor == "" && a.To == last.To {
		a.Anchor = last.Anchor
	}
	switch anchor, err := hex.DecodeString(a.Anchor); {
	case a.Server == "":
		return nil, usage{errors.New("--server is missing, and there is nothing to go on with")}
	case a.From == 0 || a.To < a.From:
		return nil, usage{fmt.Errorf("--from %d --to %d is no range; ledgers count from 1", a.From, a.To)}
	case a.Anchor != "" && (err != nil || len(anchor) != len(hash{})):
		return nil, usage{errors.New("--anchor is a ledger's hash: 64 hexadecimal digits")}
	}
	if !found || a.From != last.From || a.To != last.To || a.Anchor != last.Anchor {
		err = db.begin(a)
	}
	return &syncer{db: db, ask: a, blamed: map[string]int{}}, err
}

// run fetches what is missing of the range, until ctx is done.
func (s *syncer) run(ctx context.Context) error {
	s.began = time.Now()
	s.client = newClient(s.ask.Server)
	defer s.client.close()
	next, found, err := s.db.next()
	if err != nil {
		return err
	}
	if !found {
		next = link{index: s.ask.To}
		if s.ask.Anchor != "" {
			b, _ := hex.DecodeString(s.ask.Anchor) // newSyncer has looked at it
			next.hash = hash(b)
		}
	}
	for ; next.index >= s.ask.From; next = (link{index: next.index - 1, hash: next.parent}) {
		here, err := s.stored(next)
		if err != nil {
			return err
		}
		if here != nil {
			next = *here
			continue
		}
		if next, err = s.one(ctx, next); err != nil {
			return err
		}
	}
	return nil
}

// stored returns the ledger if it is there already, from an earlier range, and is the one that is wanted.
func (s *syncer) stored(want link) (*link, error) {
	l, found, err := s.db.ledger(want.index)
	if !found || err != nil {
		return nil, err
	}
	at, err := verify(l)
	if err != nil || !fits(at, want) {
		return nil, nil // it is fetched again, and written over
	}
	return &at, nil
}

// fits says whether a ledger is the one that is wanted.
func fits(at, want link) bool {
	return at.index == want.index && (want.hash == hash{} || at.hash == want.hash)
}

// tries is how often the same ledger is asked for, and pause how long after the first time; the pauses double up to
// longest. That is some 8 s, which a restart of the server takes; after that whoever called decides.
const (
	tries   = 12
	pause   = 50 * time.Millisecond
	longest = time.Second
	// maxLacks is how often a server may say that it does not have the ledger: it says so while it is starting, too.
	maxLacks = 3
)

// one fetches a ledger, proves it and stores it.
func (s *syncer) one(ctx context.Context, want link) (link, error) {
	wait, lacks := pause, 0
	for try := 1; ; try++ {
		at, err := s.try(ctx, want)
		if err == nil {
			return at, nil
		}
		if ctx.Err() != nil {
			return link{}, errors.New("interrupted; call it again to go on")
		}
		var full diskError
		if errors.As(err, &full) {
			return link{}, err
		}
		if errors.Is(err, errMissing) {
			lacks++
		}
		if try == tries || lacks == maxLacks {
			s.missing = want.index
			return link{}, fmt.Errorf("ledger %d cannot be had of %s: %w", want.index, s.ask.Server, err)
		}
		s.refetched++
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, longest)
	}
}

// diskError: it cannot be stored.
type diskError struct{ error }

func (s *syncer) try(ctx context.Context, want link) (link, error) {
	begin := time.Now()
	l, size, err := s.client.fetch(ctx, want.index)
	fetched := time.Now()
	s.bytes += int64(size)
	s.fetching += fetched.Sub(begin)
	s.took = append(s.took, fetched.Sub(begin))
	if err != nil {
		s.tell(fetched.Sub(begin), size, true)
		return link{}, err
	}
	at, err := verify(l)
	if err == nil && !fits(at, want) {
		err = errors.New("it is not the ledger that the one above it names as its parent")
		if at.index != want.index {
			err = errors.New("it is another ledger than was asked for")
		}
	}
	hashed := time.Now()
	s.hashing += hashed.Sub(fetched)
	if err != nil {
		s.blamed[err.Error()]++
		s.tell(hashed.Sub(begin), size, true)
		return link{}, fmt.Errorf("a wrong answer: %w", err)
	}
	if err := s.db.put(l, at); err != nil {
		return link{}, diskError{err}
	}
	s.storing += time.Since(hashed)
	s.ledgers++
	s.tell(time.Since(begin), size, false)
	return at, nil
}

// tell says that a ledger was fetched and stored, or was not, to whoever watches.
func (s *syncer) tell(took time.Duration, size int, failed bool) {
	if s.watch != nil {
		s.watch.Done(took, size, failed)
	}
}

// result is the last line of --json.
type result struct {
	Ledgers   int      `json:"ledgers"`
	Bytes     int64    `json:"bytes"`
	Elapsed   float64  `json:"elapsed_s"`
	Rate      float64  `json:"ledgers_per_s"`
	P95       float64  `json:"p95_ms"` // of a request
	BoundBy   string   `json:"bound_by"`
	Refetched int      `json:"refetched"`
	Blamed    []blame  `json:"blamed"`
	Gaps      []string `json:"gaps"`
}

type blame struct {
	Server string `json:"server"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

func (s *syncer) result() result {
	elapsed := time.Since(s.began).Seconds()
	r := result{
		Ledgers: s.ledgers, Bytes: s.bytes, Elapsed: elapsed, Rate: float64(s.ledgers) / elapsed,
		BoundBy: "server", Refetched: s.refetched, Blamed: []blame{}, Gaps: []string{},
	}
	switch max(s.fetching, s.hashing, s.storing) {
	case s.hashing:
		r.BoundBy = "cpu"
	case s.storing:
		r.BoundBy = "disk"
	}
	if n := len(s.took); n > 0 {
		slices.Sort(s.took)
		r.P95 = float64(s.took[(n*95-1)/100]) / float64(time.Millisecond)
	}
	for _, reason := range slices.Sorted(maps.Keys(s.blamed)) {
		r.Blamed = append(r.Blamed, blame{s.ask.Server, reason, s.blamed[reason]})
	}
	if s.missing > 0 { // and what is below it cannot be proved
		r.Gaps = append(r.Gaps, fmt.Sprintf("%d-%d", s.ask.From, s.missing))
	}
	return r
}
