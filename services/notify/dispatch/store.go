package dispatch

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
	"dyno/parts/refusal"
	"dyno/parts/wal"
	"dyno/services/notify/journal"
	"dyno/services/notify/subscription"
)

// Store is the two logs.
type Store struct {
	Notices *wal.Log
	Journal *journal.Journal

	head          atomic.Uint64 // the number of the next notice to be routed
	full          atomic.Bool   // something was refused for want of space; the maintenance clears it
	checkpointDue atomic.Bool   // something is lost that should be known at the next start

	engine       string
	log          *slog.Logger
	fail         func(error)  // nil means none
	lastReported atomic.Int64 // when an error of a log was last logged, ns, monotonic
}

// advice says how to go on after damage.
const advice = "restore the data folder from a backup, or start with --accept-damage to go on without what is lost"

// OpenStore opens the logs, and returns what subscriptions were owed according to the journal.
func OpenStore(o StoreOptions) (*Store, map[string]*subscription.Recovered, error) {
	notices, events, err := openLogs(o)
	if err != nil {
		return nil, nil, err
	}
	s := &Store{Notices: notices, engine: o.Log, log: o.Logger, fail: o.Fail}
	var recovered map[string]*subscription.Recovered
	if s.Journal, recovered, err = journal.Open(events); err == nil {
		err = s.checkDamage(o.AcceptDamage)
	}
	if err != nil {
		return nil, nil, errors.Join(err, notices.Close(), events.Close())
	}
	s.Journal.Limit(o.DeadLetters, o.DeadBytes)
	_, next := notices.Bounds()
	s.head.Store(next)
	return s, recovered, nil
}

// checkDamage refuses to start when events were damaged, since what they said is not known, unless
// damage is accepted.
func (s *Store) checkDamage(accept bool) error {
	damaged := s.Journal.Damaged()
	if len(damaged) == 0 {
		return nil
	}
	if !accept {
		return fmt.Errorf("the journal is damaged, so subscriptions, or that they were deleted, may be forgotten: %w: %s", damaged[0], advice)
	}
	for _, damage := range damaged {
		s.log.Error("events of the journal could not be read; what they said is forgotten", "error", damage)
	}
	s.checkpointDue.Store(true) // so that the next start finds a checkpoint behind them
	return nil
}

// Close closes both logs.
func (s *Store) Close() error { return errors.Join(s.Journal.Close(), s.Notices.Close()) }

// Last is the number of the last notice that was routed; 0 means none.
func (s *Store) Last() uint64 { return s.head.Load() - 1 }

// Engine is the name of the logs' implementation.
func (s *Store) Engine() string { return s.engine }

// Report logs an error of a log, once a second at most, and passes it to StoreOptions.Fail if the
// log can take no more. What the journal could not store is delivered again by the next process, so
// it is no reason to stop. A nil error is none.
func (s *Store) Report(err error) {
	if err == nil {
		return
	}
	if now := monotonic.Now(); now-s.lastReported.Load() > int64(time.Second) { // a full disk fails every event
		s.lastReported.Store(now)
		s.log.Error("a log could not be written", "error", err)
	}
	if s.fail != nil && errors.Is(err, wal.ErrFailed) {
		s.fail(fmt.Errorf("%w; nothing acknowledged is lost: fix what the error names and start again", err))
	}
}

// refuse turns an error of a log into the refusal of the request that met it, and reports it.
func (s *Store) refuse(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, wal.ErrFull):
		s.full.Store(true)
		s.Report(err)
		return refusal.New(http.StatusInsufficientStorage, "the disk is full: nothing was stored; what was delivered is being given up, so try again, and free some space if that does not help")
	case errors.Is(err, wal.ErrTooLarge):
		return refusal.New(http.StatusRequestEntityTooLarge, "nothing was stored: %v, or send it in parts", err)
	}
	s.Report(err)
	return refusal.New(http.StatusServiceUnavailable, "it could not be stored: %v", err)
}
