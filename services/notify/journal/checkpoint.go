package journal

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"dyno/parts/wal"
	"dyno/services/notify/subscription"
)

const (
	// carryBytes of letters' records are in memory while a checkpoint carries them over.
	carryBytes = 1 << 20
	// defaultSpare is two segments of files: as much as cannot be removed yet after letters were
	// carried over, and again before they are the next time. It takes some seconds to read at the
	// start.
	defaultSpare = 128 << 20
	// letterRoom is what a letter takes in the log beside its record, in bytes, at most unless its
	// reason is long.
	letterRoom = 256
)

// Checkpoint writes the state anew and drops the events before, so that the log stays short. It
// calls positions, which calls put once for each subscription, with the caller's lock of that
// subscription held, so that its events come before or after as a whole. Then it carries the dead
// letters over, if the log has become twice as large as they are, syncs, and trims.
//
// When it returns nil or ErrUnread, all events before it are durable: notices that were delivered
// by then, or are dead letters, can be dropped.
//
// Other events may be appended meanwhile. A crash at any moment loses nothing: until the trim,
// everything before is still there. A subscription that is not put, and a letter whose record
// cannot be read, keep their events, and so the log stays longer; the letter is reported as an
// error, until it is purged.
func (j *Journal) Checkpoint(positions func(put func(subscription.Position))) error {
	j.checkpoint.Lock()
	defer j.checkpoint.Unlock()
	_, begin := j.log.Bounds()
	size := j.size.Load()
	unread, err := j.write(positions, begin)
	if err == nil {
		err = j.log.Trim(j.reach(begin))
	}
	if err == nil {
		j.size.Add(-size)
	}
	switch {
	case err != nil:
		return fmt.Errorf("checkpoint of the journal: %w", err)
	case unread != nil:
		return fmt.Errorf("checkpoint of the journal: %w: %w", ErrUnread, unread)
	}
	return nil
}

// write appends the state. Letters that cannot be read do not hold it up.
func (j *Journal) write(positions func(put func(subscription.Position)), begin uint64) (unread, err error) {
	positions(func(p subscription.Position) {
		if err == nil {
			err = j.place(p)
		}
	})
	if err != nil {
		return nil, err
	}
	if j.crowded() {
		unread, err = j.carry(begin)
	}
	if err != nil {
		return unread, err
	}
	return unread, j.depart(begin)
}

// crowded reports whether letters are worth carrying over. At every checkpoint, that would write
// all of them every time; so, it writes no more than as much again as came of events.
func (j *Journal) crowded() bool {
	kept := int64(0)
	for _, l := range j.all() {
		l.mu.Lock()
		kept += l.letters.bytes + letterRoom*int64(len(l.letters.letters))
		l.mu.Unlock()
	}
	return j.log.Size() > 2*kept+j.spare
}

// reach is the number before which the state, all of which is durable, needs no event.
func (j *Journal) reach(begin uint64) uint64 {
	begin = j.oldestBase(begin)
	for _, l := range j.all() {
		l.mu.Lock()
		for _, d := range l.letters.letters {
			if where := d.where.Load(); where != 0 {
				begin = min(begin, where)
			}
		}
		l.mu.Unlock()
	}
	return begin
}

// oldestBase is begin, or the number of the oldest position that counts if that is lower.
func (j *Journal) oldestBase(begin uint64) uint64 {
	for _, l := range j.all() {
		if baseSeq := l.baseSeq.Load(); baseSeq != 0 { // else it is not committed yet, and so after begin
			begin = min(begin, baseSeq)
		}
	}
	return begin
}

// place writes the position of one subscription; of one that has gone meanwhile, nothing.
func (j *Journal) place(p subscription.Position) error {
	l, err := j.ledger(p.ID)
	if err != nil {
		return nil
	}
	defer l.mu.Unlock()
	if len(l.letters.letters) > 0 {
		p.Waiting = slices.DeleteFunc(slices.Clone(p.Waiting), func(w subscription.Waiting) bool {
			d := l.letters.find(w.Seq)
			return d != nil && d.Replaying
		})
	}
	p.DropFilters()
	batch, err := encodePosition(l.handle, p, l.letters.letters)
	if err != nil {
		return err
	}
	return j.log.AppendAsync(batch, l.baseSeq.Store)
}

// depart writes the counts of deleted subscriptions, and makes durable what the checkpoint wrote
// before; then that it is complete.
func (j *Journal) depart(begin uint64) error {
	j.departing.Lock()
	defer j.departing.Unlock()
	if _, err := j.log.Append([][]byte{encodeCounts(kindDeparted, 0, j.departed)}, nil); err != nil {
		return err
	}
	_, err := j.log.Append([][]byte{encodeComplete(j.oldestBase(begin))}, nil)
	return err
}

// cargo is a letter whose record is before a checkpoint.
type cargo struct {
	where  uint64
	ledger *ledger
	letter *letter
	record []byte
}

// carry writes the letters anew whose records are before a number.
func (j *Journal) carry(begin uint64) (unread, err error) {
	left := j.cargo(begin)
	for len(left) > 0 {
		n, err := j.fetch(left)
		if err != nil {
			return unread, err
		}
		for _, c := range left[:n] {
			if c.record == nil {
				unread = cmp.Or(unread, fmt.Errorf("the record of dead letter %s-%d is damaged, purge it", c.ledger.id, c.letter.Seq))
			} else if err := j.keep(c); err != nil {
				return unread, err
			}
		}
		clear(left[:n])
		left = left[n:]
	}
	return unread, nil
}

// fetch reads the records of the next letters, about carryBytes of them, and returns how many it
// went past. Those that cannot be read stay without.
func (j *Journal) fetch(left []cargo) (n int, err error) {
	bytes := 0
	err = j.log.Scan(left[0].where, func(number uint64, record []byte) error {
		for n < len(left) && left[n].where < number {
			n++
		}
		if n == len(left) || bytes >= carryBytes {
			return wal.ErrStop
		}
		if left[n].where > number {
			return nil
		}
		e, err := decode(record)
		if err != nil {
			return err
		}
		left[n].record = append([]byte{}, e.record...)
		bytes += len(record)
		n++
		return nil
	})
	var damage *wal.DamageError
	if errors.As(err, &damage) {
		for n < len(left) && left[n].where < damage.Next {
			n++
		}
		err = nil
	}
	return max(n, 1), err
}

// keep writes one letter anew, unless it has gone or died again since.
func (j *Journal) keep(c cargo) error {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.ledger.letters.find(c.letter.Seq) != c.letter {
		return nil
	}
	event := encodeLetter(kindKeep, c.ledger.handle, c.letter.DeadLetter, c.record)
	return j.log.AppendAsync([][]byte{event}, c.letter.where.Store)
}

// cargo lists the letters to carry over, in the order of the log.
func (j *Journal) cargo(begin uint64) []cargo {
	var all []cargo
	for _, l := range j.all() {
		l.mu.Lock()
		for _, d := range l.letters.letters {
			// One that is being written now gets its number after begin.
			if where := d.where.Load(); where < begin && d.unwritten.Load() == nil {
				all = append(all, cargo{where: where, ledger: l, letter: d})
			}
		}
		l.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b cargo) int { return cmp.Compare(a.where, b.where) })
	return all
}

// all is the subscriptions there are.
func (j *Journal) all() []*ledger {
	j.mu.RLock()
	defer j.mu.RUnlock()
	all := make([]*ledger, 0, len(j.ledgers))
	for _, l := range j.ledgers {
		all = append(all, l)
	}
	return all
}
