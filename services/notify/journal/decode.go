package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"dyno/services/notify/subscription"
)

// decode reads one record. The event shares the record's memory.
func decode(record []byte) (event, error) {
	if len(record) == 0 {
		return event{}, errors.New("an empty record")
	}
	if v := record[0] >> 4; v != version {
		return event{}, fmt.Errorf("an event of version %d, and this program reads version %d: use the notifyd that wrote it", v, version)
	}
	e := event{kind: kind(record[0] & 0xf)}
	r := reader{rest: record[1:]}
	e.handle = r.uvarint()
	switch e.kind {
	case kindPut:
		e.from = r.uvarint()
		r.json(&e.position.Definition)
	case kindDelete, kindDeparted:
		e.counts = r.counts()
		if len(r.rest) > 0 { // journals of before have no more
			e.counts.Lost = r.varint()
		}
	case kindComplete:
		e.from = r.uvarint()
	case kindDelivered, kindPurge, kindReplay, kindDead, kindAhead:
		e.seqs = r.seqs()
	case kindFailed, kindWaiting, kindReplaying:
		e.waiting = r.waitings()
	case kindDeadLetter, kindKeep:
		e.letter, e.record = r.letter()
	case kindPosition:
		e.position = r.position()
	default:
		return event{}, fmt.Errorf("an event of kind %d, which this program does not know: use the notifyd that wrote it, or a newer one", e.kind)
	}
	if r.err == nil && len(r.rest) > 0 {
		r.err = fmt.Errorf("%d bytes too many", len(r.rest))
	}
	if r.err != nil {
		return event{}, fmt.Errorf("an event of kind %d: %w", e.kind, r.err)
	}
	return e, nil
}

// reader takes values off the front of a record. After the first error, which it keeps, it gives
// zeros.
type reader struct {
	rest []byte
	err  error
}

var errShort = errors.New("it ends in the middle")

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.advance(n)
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	r.advance(n)
	return v
}

// advance goes past a value of n bytes; where package binary found none, n is at most 0 and the
// value is 0.
func (r *reader) advance(n int) {
	if n <= 0 {
		r.fail(errShort)
		return
	}
	r.rest = r.rest[n:]
}

// small is a number that an int holds everywhere.
func (r *reader) small() int {
	v := r.uvarint()
	if v > math.MaxInt32 {
		r.fail(fmt.Errorf("a number of %d where a small one is expected", v))
		return 0
	}
	return int(v)
}

func (r *reader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.fail(errShort)
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) time() time.Time {
	ms := r.varint()
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func (r *reader) json(v any) {
	if r.err != nil {
		return
	}
	if err := json.Unmarshal(r.rest, v); err != nil {
		r.fail(err)
	}
	r.rest = nil
}

func (r *reader) counts() (c subscription.Counts) {
	for _, n := range [...]*int64{&c.Accepted, &c.Delivered, &c.Retried, &c.Dead, &c.Refused, &c.Purged} {
		*n = r.varint()
	}
	return c
}

func (r *reader) seqs() []uint64 {
	seqs := make([]uint64, 0, 1)
	for last := uint64(0); len(r.rest) > 0; {
		last += uint64(r.varint())
		seqs = append(seqs, last)
	}
	return seqs
}

func (r *reader) waitings() []subscription.Waiting {
	var all []subscription.Waiting
	for last := uint64(0); len(r.rest) > 0; {
		w := r.waiting(last)
		all = append(all, w)
		last = w.Seq
	}
	return all
}

func (r *reader) waiting(last uint64) subscription.Waiting {
	return subscription.Waiting{Seq: last + uint64(r.varint()), Tries: r.small(), Next: r.time()}
}

func (r *reader) letter() (subscription.DeadLetter, []byte) {
	l := subscription.DeadLetter{Seq: r.uvarint(), Attempts: r.small(), Status: int(r.varint()), DeadAt: r.time()}
	if flags := r.bytes(1); len(flags) == 1 && flags[0] == 1 {
		l.Replaying = true
		l.Retry = r.waiting(l.Seq)
	}
	l.Reason = string(r.bytes(r.small()))
	l.Size = len(r.rest)
	return l, r.bytes(l.Size)
}

func (r *reader) position() subscription.Position {
	p := subscription.Position{Counts: r.counts(), Loaded: r.uvarint(), Backlog: r.varint(), Routed: r.uvarint()}
	var f face
	r.json(&f)
	p.Definition, p.Filters, p.Counts.Lost = f.Definition, f.Filters, f.Lost
	return p
}
