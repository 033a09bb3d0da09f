package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/services/notify/subscription"
)

// An event is one record of the log: a byte of version and kind, then what the kind needs, as
// varints, with JSON inside those that are rare. A subscription goes by its handle, a small number
// which no two subscriptions in one log share.
const version = 1

type kind uint8

const (
	kindPut        kind = iota + 1 // a new or changed definition
	kindDelete                     // a subscription has gone, with its final counts
	kindDelivered                  // notices were delivered
	kindFailed                     // an attempt failed and will be repeated
	kindDeadLetter                 // a notice is dead: a letter with its record
	kindPurge                      // letters have gone
	kindReplay                     // a letter is pending again

	// What a checkpoint writes.
	kindPosition  // where a subscription stands
	kindWaiting   // which follows a position, as the next two do: some of its waiting notices
	kindDead      // the numbers of its letters
	kindReplaying // of those that are replayed, with what became of that
	kindKeep      // a letter anew, with its record, which a checkpoint carried over
	kindDeparted  // the counts of deleted subscriptions
	kindAhead     // numbers that a position's Loaded has not reached and that were delivered or are dead
	kindComplete  // a checkpoint is complete: events before a number count no more, except records of letters
)

// checkpoint reports whether the event says nothing that earlier ones did not.
func (k kind) checkpoint() bool { return k >= kindPosition }

// event is any event; its kind says which fields count.
type event struct {
	kind     kind
	handle   uint64
	from     uint64 // put, complete
	seqs     []uint64
	waiting  []subscription.Waiting
	counts   subscription.Counts
	letter   subscription.DeadLetter
	record   []byte // of the letter; shares memory with what was decoded
	position subscription.Position
}

// begin appends the beginning of an event to b, so that the frequent callers choose where the bytes
// are.
func begin(b []byte, k kind, handle uint64) []byte {
	return binary.AppendUvarint(append(b, version<<4|byte(k)), handle)
}

func encodePut(handle uint64, d subscription.Definition, from uint64) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("subscription %s cannot be written: %w", d.ID, err)
	}
	if len(text) > maxDefinition {
		return nil, fmt.Errorf("subscription %s takes %d bytes of JSON; %d is the most: give it fewer types or secrets", d.ID, len(text), maxDefinition)
	}
	b := binary.AppendUvarint(begin(nil, kindPut, handle), from)
	return append(b, text...), nil
}

func encodeCounts(k kind, handle uint64, c subscription.Counts) []byte {
	return binary.AppendVarint(appendCounts(begin(nil, k, handle), c), c.Lost)
}

func encodeComplete(from uint64) []byte {
	return binary.AppendUvarint(begin(nil, kindComplete, 0), from)
}

func appendCounts(b []byte, c subscription.Counts) []byte {
	for _, n := range [...]int64{c.Accepted, c.Delivered, c.Retried, c.Dead, c.Refused, c.Purged} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func encodeSeqs(b []byte, k kind, handle uint64, seqs []uint64) []byte {
	b = begin(b, k, handle)
	last := uint64(0)
	for _, seq := range seqs {
		b = binary.AppendVarint(b, int64(seq-last))
		last = seq
	}
	return b
}

func encodeWaiting(b []byte, k kind, handle uint64, waiting []subscription.Waiting) []byte {
	b = begin(b, k, handle)
	last := uint64(0)
	for _, w := range waiting {
		b = appendWaiting(b, w, last)
		last = w.Seq
	}
	return b
}

func appendWaiting(b []byte, w subscription.Waiting, last uint64) []byte {
	b = binary.AppendVarint(b, int64(w.Seq-last))
	b = binary.AppendUvarint(b, uint64(max(w.Tries, 0)))
	return appendTime(b, w.Next)
}

// appendTime keeps milliseconds, and the zero time as 0.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(b, t.UnixMilli())
}

// milliseconds is a time as it comes back from the log.
func milliseconds(t time.Time) time.Time {
	if t.IsZero() || t.UnixMilli() == 0 {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

func encodeLetter(k kind, handle uint64, l subscription.DeadLetter, record []byte) []byte {
	b := begin(make([]byte, 0, 80+len(l.Reason)+len(record)), k, handle)
	b = binary.AppendUvarint(b, l.Seq)
	b = binary.AppendUvarint(b, uint64(max(l.Attempts, 0)))
	b = binary.AppendVarint(b, int64(l.Status))
	b = appendTime(b, l.DeadAt)
	if l.Replaying {
		b = append(b, 1)
		b = appendWaiting(b, l.Retry, l.Seq)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(l.Reason)))
	b = append(b, l.Reason...)
	return append(b, record...)
}

// stored is a letter as it comes back from the log.
func stored(l subscription.DeadLetter, record []byte) subscription.DeadLetter {
	l.Reason = shorten(l.Reason)
	l.Attempts = max(l.Attempts, 0)
	l.DeadAt = milliseconds(l.DeadAt)
	l.Size = len(record)
	l.Where = 0
	if l.Replaying {
		l.Retry = subscription.Waiting{Seq: l.Seq, Tries: max(l.Retry.Tries, 0), Next: milliseconds(l.Retry.Next)}
	} else {
		l.Retry = subscription.Waiting{}
	}
	return l
}

func shorten(reason string) string {
	if len(reason) > maxReason {
		reason = reason[:maxReason]
	}
	return strings.ToValidUTF8(reason, "")
}

// face is the part of a position that is JSON.
type face struct {
	Definition subscription.Definition `json:"definition"`
	Filters    []subscription.Filter   `json:"filters"`
	Lost       int64                   `json:"lost,omitempty"`
}

// encodePosition makes the events of one position, which go into one batch: a crash keeps all or
// none. The letters follow it without their records, so that what happens to one before its record
// is carried over counts.
func encodePosition(handle uint64, p subscription.Position, letters []*letter) ([][]byte, error) {
	text, err := json.Marshal(face{p.Definition, p.Filters, p.Counts.Lost})
	if err != nil {
		return nil, fmt.Errorf("the position of subscription %s cannot be written: %w", p.ID, err)
	}
	if len(text) > maxFilters {
		return nil, fmt.Errorf("the position of subscription %s takes %d bytes of JSON, %d is the most: "+
			"its types were changed often while it lagged; let it catch up", p.ID, len(text), maxFilters)
	}
	b := begin(nil, kindPosition, handle)
	b = appendCounts(b, p.Counts)
	b = binary.AppendUvarint(b, p.Loaded)
	b = binary.AppendVarint(b, p.Backlog)
	b = binary.AppendUvarint(b, p.Routed)
	batch := [][]byte{append(b, text...)}
	var dead []uint64
	var replaying []subscription.Waiting
	for _, d := range letters {
		if d.Replaying {
			replaying = append(replaying, d.Retry)
		} else {
			dead = append(dead, d.Seq)
		}
	}
	waiting := func(k kind, all []subscription.Waiting) {
		for some := range slices.Chunk(all, maxSeqs) {
			batch = append(batch, encodeWaiting(nil, k, handle, some))
		}
	}
	seqs := func(k kind, all []uint64) {
		for some := range slices.Chunk(all, maxSeqs) {
			batch = append(batch, encodeSeqs(nil, k, handle, some))
		}
	}
	waiting(kindWaiting, p.Waiting)
	waiting(kindWaiting, p.TriedAhead)
	seqs(kindAhead, p.AckedAhead)
	seqs(kindDead, dead)
	waiting(kindReplaying, replaying)
	return batch, nil
}
