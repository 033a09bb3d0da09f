package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"dyno/parts/progress"
)

// syncer works through a range from its top down.
type syncer struct {
	db     *store
	ask    ask
	client *client
	watch  *progress.Writer // nil: there is no --windows

	began              time.Time
	ledgers, refetched int
	bytes              int64
	missing            uint32 // a ledger that cannot be had; 0: none
}

// newSyncer takes up what is asked for, or what was asked for last where nothing is.
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
		return nil, usageError("--server is missing, and there is nothing to go on with")
	case a.From == 0 || a.To < a.From:
		return nil, usageError(fmt.Sprintf("--from %d --to %d is no range; ledgers count from 1", a.From, a.To))
	case a.Anchor != "" && (err != nil || len(anchor) != len(hash{})):
		return nil, usageError("--anchor is a ledger's hash: 64 hexadecimal digits")
	}
	if !found || a.From != last.From || a.To != last.To || a.Anchor != last.Anchor {
		err = db.begin(a)
	}
	return &syncer{db: db, ask: a}, err
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

// stored returns the ledger if it is there already, from an earlier range, and is the one that is
// wanted.
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

// fits reports whether a ledger is the one that is wanted.
func fits(at, want link) bool {
	return at.index == want.index && (want.hash == hash{} || at.hash == want.hash)
}

// tries bounds the requests for one ledger. The first pause between them doubles up to the longest:
// that is some 8 s, enough for a restart of the server; after that the command fails and can be
// called again.
const (
	tries   = 12
	pause   = 50 * time.Millisecond
	longest = time.Second
)

// one fetches a ledger, proves it and stores it.
func (s *syncer) one(ctx context.Context, want link) (link, error) {
	wait := pause
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
		if try == tries {
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

// diskError is a failure to store a ledger.
type diskError struct{ error }

func (s *syncer) try(ctx context.Context, want link) (link, error) {
	begin := time.Now()
	l, size, err := s.client.fetch(ctx, want.index)
	s.bytes += int64(size)
	if err != nil {
		s.report(time.Since(begin), size, true)
		return link{}, err
	}
	at, err := verify(l)
	if err == nil && !fits(at, want) {
		err = errors.New("it is not the ledger that the one above it names as its parent")
		if at.index != want.index {
			err = errors.New("it is another ledger than was asked for")
		}
	}
	if err != nil {
		s.report(time.Since(begin), size, true)
		return link{}, fmt.Errorf("a wrong answer: %w", err)
	}
	if err := s.db.put(l, at); err != nil {
		return link{}, diskError{err}
	}
	s.ledgers++
	s.report(time.Since(begin), size, false)
	return at, nil
}

// report reports to --windows that a ledger was fetched and stored, or was not.
func (s *syncer) report(took time.Duration, size int, failed bool) {
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
	Refetched int      `json:"refetched"`
	Gaps      []string `json:"gaps"`
}

func (s *syncer) result() result {
	elapsed := time.Since(s.began).Seconds()
	r := result{s.ledgers, s.bytes, elapsed, float64(s.ledgers) / elapsed, s.refetched, []string{}}
	if s.missing > 0 { // and what is below it cannot be proved
		r.Gaps = append(r.Gaps, fmt.Sprintf("%d-%d", s.ask.From, s.missing))
	}
	return r
}
