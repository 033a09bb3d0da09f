package journal

import (
	"fmt"

	"dyno/services/notify/subscription"
)

// Put records a new subscription, which gets notices from a number on, or a changed one, whose
// definition holds from there on. It is durable when Put returns.
func (j *Journal) Put(d subscription.Definition, from uint64) error {
	if d.ID == "" || len(d.ID) > maxID {
		return fmt.Errorf("a subscription's id has 1 to %d bytes, not %d", maxID, len(d.ID))
	}
	for {
		l, fresh := j.enter(d.ID)
		l.mu.Lock()
		if l.gone { // deleted, or refused, since it was found
			l.mu.Unlock()
			continue
		}
		err := j.put(l, d, from, fresh)
		if err != nil && fresh {
			j.leave(l)
		}
		l.mu.Unlock()
		return err
	}
}

func (j *Journal) put(l *ledger, d subscription.Definition, from uint64, fresh bool) error {
	record, err := encodePut(l.handle, d, from)
	if err != nil {
		return err
	}
	var then func(uint64)
	if fresh {
		then = l.baseSeq.Store
	}
	if _, err := j.log.Append([][]byte{record}, then); err != nil {
		return fmt.Errorf("subscription %s was not stored: %w", d.ID, err)
	}
	j.size.Add(int64(len(record)))
	return nil
}

// enter finds a subscription, or begins one.
func (j *Journal) enter(id string) (l *ledger, fresh bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.ledgers[id]; l != nil {
		return l, false
	}
	j.handles++
	l = &ledger{id: id, handle: j.handles}
	j.ledgers[id] = l
	return l, true
}

// leave forgets a subscription, whose lock is held.
func (j *Journal) leave(l *ledger) {
	l.gone = true
	l.letters = letterIndex{}
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.ledgers, l.id)
}

// Delete records that a subscription was deleted, its dead letters with it. Its final counts, in
// which all that was pending counts as dead, are added to Departed. It is durable when Delete
// returns.
func (j *Journal) Delete(id string, final subscription.Counts) error {
	l, err := j.ledger(id)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	j.departing.Lock()
	defer j.departing.Unlock()
	record := encodeCounts(kindDelete, l.handle, final)
	if _, err := j.log.Append([][]byte{record}, nil); err != nil {
		return fmt.Errorf("subscription %s was not deleted: %w", id, err)
	}
	j.size.Add(int64(len(record)))
	j.departed = j.departed.Plus(final)
	j.leave(l)
	return nil
}

// note is an event of few bytes and the batch that it is, in one piece of memory.
type note struct {
	batch [1][]byte
	room  [40]byte
}

// Delivered records that a subscription has got notices, or dead letters that were replayed, which
// are gone then. It is durable within a second; a crash before delivers them again.
func (j *Journal) Delivered(id string, seqs ...uint64) error {
	l, err := j.ledger(id)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	for len(seqs) > 0 {
		some := seqs[:min(len(seqs), maxSeqs)]
		seqs = seqs[len(some):]
		n := new(note)
		n.batch[0] = encodeSeqs(n.room[:0], kindDelivered, l.handle, some)
		if failed := j.lazily(n.batch[:], nil); err == nil {
			err = failed
		}
		for _, seq := range some { // in any case: the next checkpoint lists the letters that remain
			if d := l.letters.find(seq); d != nil && d.Replaying {
				l.letters.remove(seq)
			}
		}
	}
	return err
}

// Failed records that an attempt failed and when the next is due; what counts as retried follows
// from w.Tries. It is durable within a second; a crash before forgets that the attempt was made.
func (j *Journal) Failed(id string, w subscription.Waiting) error {
	l, err := j.ledger(id)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	n := new(note)
	n.batch[0] = encodeWaiting(n.room[:0], kindFailed, l.handle, []subscription.Waiting{w})
	if err := j.lazily(n.batch[:], nil); err != nil {
		return err
	}
	if d := l.letters.find(w.Seq); d != nil && d.Replaying {
		d.Retry = subscription.Waiting{Seq: w.Seq, Tries: max(w.Tries, 0), Next: milliseconds(w.Next)}
	}
	return nil
}

// lazily hands events to the log; then, which may be nil, is called with the number of the first
// when they are written.
func (j *Journal) lazily(batch [][]byte, then func(first uint64)) error {
	size := 0
	for _, record := range batch {
		size += len(record)
	}
	if err := j.log.AppendAsync(batch, then); err != nil {
		return fmt.Errorf("the journal takes no events: %w", err)
	}
	j.size.Add(int64(size))
	return nil
}
