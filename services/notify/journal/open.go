package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"dyno/parts/wal"
	"dyno/services/notify/subscription"
)

// Journal is an open log of events. Its methods may be called by any goroutine at any time.
type Journal struct {
	log        *wal.Log
	size       atomic.Int64
	damaged    []*wal.DamageError
	letters    atomic.Int64 // most of one subscription
	bytes      atomic.Int64 // of these
	spare      int64        // bytes that the log may take beyond what it must, before letters are carried over
	checkpoint sync.Mutex   // held through one

	mu      sync.RWMutex // guards the fields below; never held while the log is waited for
	ledgers map[string]*ledger
	handles uint64

	departing sync.Mutex // held through the append of what changes departed
	departed  subscription.Counts
}

// ledger is what the journal itself remembers of a subscription.
type ledger struct {
	id      string
	handle  uint64
	baseSeq atomic.Uint64 // the number of its last position, or of its first put; 0: that is being written

	mu      sync.Mutex // held through the append of each of its events, so that they keep their order
	gone    bool
	letters letterIndex
}

// Open reads a log and returns what its events add up to, by subscription. Damaged records are
// passed over and listed by Damaged, unless a later checkpoint says the same; what they said is
// lost. From now on the log belongs to the Journal.
func Open(log *wal.Log) (*Journal, map[string]*subscription.Recovered, error) {
	j := &Journal{log: log, ledgers: make(map[string]*ledger), spare: defaultSpare}
	j.Limit(DefaultDeadLetters, DefaultDeadBytes)
	f := newFold()
	from, next := log.Bounds()
	for from < next {
		err := log.Scan(from, func(number uint64, record []byte) error {
			if err := f.visit(number, record); err != nil {
				return fmt.Errorf("event %d of the journal cannot be read: %w", number, err)
			}
			return nil
		})
		var damage *wal.DamageError
		if !errors.As(err, &damage) || damage.Next <= from {
			if err != nil {
				return nil, nil, err
			}
			break
		}
		j.damaged = append(j.damaged, damage)
		from = damage.Next
	}
	j.damaged = slices.DeleteFunc(j.damaged, func(e *wal.DamageError) bool { return e.Next <= f.complete })
	return j, j.take(f), nil
}

// take moves what a fold found into the journal.
func (j *Journal) take(f *fold) map[string]*subscription.Recovered {
	j.departed, j.handles = f.departed, f.handles
	j.size.Store(f.size)
	all := make(map[string]*subscription.Recovered)
	for _, handle := range slices.Sorted(maps.Keys(f.states)) {
		s := f.states[handle]
		if !s.defined { // what defined it was damaged, or trimmed after it had gone
			continue
		}
		l := &ledger{id: s.ID, handle: handle}
		l.baseSeq.Store(s.baseSeq)
		s.Counts.Lost += l.letters.fill(s.letters)
		j.ledgers[s.ID] = l
		all[s.ID] = s.result()
	}
	return all
}

// Limit bounds the dead letters of each subscription, those that are replayed among them, from its
// next one on: how many, and the bytes of their notices' records. Beyond, AddDeadLetter purges the
// oldest.
func (j *Journal) Limit(letters int, bytes int64) {
	j.letters.Store(int64(letters))
	j.bytes.Store(bytes)
}

// Damaged lists the events that could not be read when the journal was opened. What they said is
// not known: the definition of a subscription, which is gone then, or that one was deleted, or that
// a notice was delivered, which it is again. A letter whose record they held is gone, and counts as
// lost.
func (j *Journal) Damaged() []*wal.DamageError { return j.damaged }

// Size is how many bytes of events came since the last checkpoint.
func (j *Journal) Size() int64 { return j.size.Load() }

// Roll lets the log drop the events before the next checkpoint, however few they are.
func (j *Journal) Roll() error { return j.log.Roll() }

// Low reports whether space ran short when the log last wanted some.
func (j *Journal) Low() bool { return j.log.Low() }

// Departed is the sum of the counts of deleted subscriptions.
func (j *Journal) Departed() subscription.Counts {
	j.departing.Lock()
	defer j.departing.Unlock()
	return j.departed
}

// Close makes all events durable, and closes the log.
func (j *Journal) Close() error { return j.log.Close() }

// ledger finds a subscription and locks it.
func (j *Journal) ledger(id string) (*ledger, error) {
	j.mu.RLock()
	l := j.ledgers[id]
	j.mu.RUnlock()
	if l != nil {
		l.mu.Lock()
		if !l.gone {
			return l, nil
		}
		l.mu.Unlock()
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknown, id)
}
