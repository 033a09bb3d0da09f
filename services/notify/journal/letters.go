package journal

import (
	"errors"
	"fmt"
	"slices"

	"dyno/parts/wal"
	"dyno/services/notify/subscription"
)

// AddDeadLetter records that a notice is dead for a subscription, and keeps the notice's record
// with the letter. It is durable within a second; a crash before makes the notice pending again.
// When there are more letters than Limit allows, the oldest are purged: AddDeadLetter returns how
// many.
func (j *Journal) AddDeadLetter(id string, dead subscription.DeadLetter, record []byte) (purged int, err error) {
	if len(record) > maxRecord {
		return 0, fmt.Errorf("dead letter %s-%d has %d bytes, %d is the most", id, dead.Seq, len(record), maxRecord)
	}
	l, err := j.ledger(id)
	if err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	dead.Replaying = false
	d := &letter{DeadLetter: stored(dead, record)}
	event := encodeLetter(kindDeadLetter, l.handle, d.DeadLetter, record)
	record = event[len(event)-len(record):]
	d.unwritten.Store(&record)
	if err := j.lazily([][]byte{event}, d.written); err != nil {
		return 0, err
	}
	l.letters.remove(dead.Seq)
	l.letters.add(d)
	purged, _ = j.makeRoom(l) // what is left over now is found again by the next
	return purged, nil
}

// makeRoom purges what is beyond the limits.
func (j *Journal) makeRoom(l *ledger) (purged int, err error) {
	surplus := l.letters.surplus(j.letters.Load(), j.bytes.Load())
	for some := range slices.Chunk(surplus, maxSeqs) {
		if err := j.lazily([][]byte{encodeSeqs(nil, kindPurge, l.handle, some)}, nil); err != nil {
			return purged, err
		}
		for _, seq := range some {
			l.letters.remove(seq)
		}
		purged += len(some)
	}
	return purged, nil
}

// Purge deletes a dead letter; false means that there is none. It is durable when Purge returns. Of
// one that is replayed it returns ErrReplaying.
func (j *Journal) Purge(id string, seq uint64) (bool, error) {
	return j.change(id, seq, kindPurge, func(l *ledger, _ *letter) { l.letters.remove(seq) })
}

// Replay makes a dead letter pending again, and returns it with its notice's record; false means
// that there is none. It is durable when Replay returns. Of one that is replayed already it returns
// ErrReplaying.
func (j *Journal) Replay(id string, seq uint64) (subscription.DeadLetter, []byte, bool, error) {
	_, record, err := j.DeadLetter(id, seq)
	if errors.Is(err, ErrUnknown) {
		return subscription.DeadLetter{}, nil, false, nil
	}
	if err != nil {
		return subscription.DeadLetter{}, nil, false, err
	}
	var replayed subscription.DeadLetter
	ok, err := j.change(id, seq, kindReplay, func(_ *ledger, d *letter) {
		d.Replaying, d.Retry = true, subscription.Waiting{Seq: seq}
		replayed = d.view()
	})
	return replayed, record, ok, err
}

// change appends an event about one letter that is not being replayed, then applies it.
func (j *Journal) change(id string, seq uint64, k kind, apply func(*ledger, *letter)) (bool, error) {
	l, err := j.ledger(id)
	if err != nil {
		return false, nil
	}
	defer l.mu.Unlock()
	d := l.letters.find(seq)
	if d == nil {
		return false, nil
	}
	if d.Replaying {
		return false, fmt.Errorf("%s-%d: %w", id, seq, ErrReplaying)
	}
	record := encodeSeqs(nil, k, l.handle, []uint64{seq})
	if _, err := j.log.Append([][]byte{record}, nil); err != nil {
		return false, fmt.Errorf("dead letter %s-%d stays as it was: %w", id, seq, err)
	}
	j.size.Add(int64(len(record)))
	apply(l, d)
	return true, nil
}

// DeadLetters is the index of a subscription's dead letters, by number.
func (j *Journal) DeadLetters(id string) []subscription.DeadLetter {
	l, err := j.ledger(id)
	if err != nil {
		return nil
	}
	defer l.mu.Unlock()
	all := make([]subscription.DeadLetter, len(l.letters.letters))
	for i, d := range l.letters.letters {
		all[i] = d.view()
	}
	return all
}

// CountDeadLetters is how many dead letters a subscription has.
func (j *Journal) CountDeadLetters(id string) int {
	l, err := j.ledger(id)
	if err != nil {
		return 0
	}
	defer l.mu.Unlock()
	return len(l.letters.letters)
}

// DeadLetter is one dead letter with its notice's record, which the caller must not change. When
// there is none, it returns ErrUnknown.
func (j *Journal) DeadLetter(id string, seq uint64) (subscription.DeadLetter, []byte, error) {
	l, err := j.ledger(id)
	if err != nil {
		return subscription.DeadLetter{}, nil, err
	}
	d := l.letters.find(seq)
	if d == nil {
		l.mu.Unlock()
		return subscription.DeadLetter{}, nil, fmt.Errorf("%w: dead letter %s-%d", ErrUnknown, id, seq)
	}
	view := d.view()
	l.mu.Unlock()
	record, err := j.record(d)
	if err != nil {
		return subscription.DeadLetter{}, nil, fmt.Errorf("the record of dead letter %s-%d cannot be read, purge it: %w", id, seq, err)
	}
	return view, record, nil
}

// record reads a letter's record where it is. A checkpoint may move it meanwhile: then there is
// another place to look at.
func (j *Journal) record(d *letter) ([]byte, error) {
	for {
		if record := d.unwritten.Load(); record != nil {
			return *record, nil
		}
		where := d.where.Load()
		record, err := j.read(where)
		if err == nil || d.where.Load() == where {
			return record, err
		}
	}
}

func (j *Journal) read(where uint64) (found []byte, err error) {
	err = j.log.Scan(where, func(number uint64, record []byte) error {
		e, err := decode(record)
		if err != nil {
			return err
		}
		if number == where && (e.kind == kindDeadLetter || e.kind == kindKeep) {
			found = append([]byte{}, e.record...)
		}
		return wal.ErrStop
	})
	if err == nil && found == nil {
		err = fmt.Errorf("event %d of the journal is not one", where)
	}
	return found, err
}
