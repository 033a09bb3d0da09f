package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/refusal"
	"dyno/services/notify/dedup"
	"dyno/services/notify/notice"
)

// AcceptorOptions of an Acceptor.
type AcceptorOptions struct {
	Store     *Store
	IDs       *dedup.Window
	Table     *Table
	Deliverer *Deliverer
	Stream    *Stream

	MaxPending int           // deliveries owed; above it notices are refused
	MaxLog     int64         // bytes of the log of notices; above it notices are refused
	MaxAge     time.Duration // that a lane may wait for a worker; above it notices are refused
}

// Acceptor accepts notices.
type Acceptor struct {
	options AcceptorOptions
	stopped atomic.Bool
}

// NewAcceptor returns an acceptor.
func NewAcceptor(o AcceptorOptions) *Acceptor { return &Acceptor{options: o} }

// Stop refuses all later notices.
func (a *Acceptor) Stop() { a.stopped.Store(true) }

// Receipt is the answer for one notice.
type Receipt struct {
	ID        string `json:"id"`
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate,omitempty"` // it was accepted before, as this seq
}

// Accept makes the notices durable and hands them to every subscription that wants them, or refuses
// them all. Those whose ids were accepted before are left out. It returns how many deliveries are
// owed.
func (a *Acceptor) Accept(ctx context.Context, notices []*notice.Notice) (receipts []Receipt, deliveries int, err error) {
	receipts, deliveries, err = a.TryAccept(ctx, notices)
	if r := (*refusal.Error)(nil); errors.As(err, &r) && r.Status == http.StatusTooManyRequests {
		a.options.Table.refused(notices)
	}
	return receipts, deliveries, err
}

// TryAccept is Accept for notices that the caller offers again in smaller groups when they are
// refused: that does not count as refused.
func (a *Acceptor) TryAccept(ctx context.Context, notices []*notice.Notice) (receipts []Receipt, deliveries int, err error) {
	items := make([]dedup.Item, len(notices))
	for i, n := range notices {
		items[i] = dedup.Item{ID: n.ID, Content: n.Content()}
	}
	claims, err := a.options.IDs.ClaimAll(ctx, items)
	if err != nil {
		return nil, 0, refusal.New(http.StatusServiceUnavailable, "another request with this id has not ended; try again")
	}
	fresh := make([]*notice.Notice, 0, len(notices))
	for i, claim := range claims {
		if claim.Seq == 0 && claim.First == i {
			fresh = append(fresh, notices[i])
		}
	}
	if err = refuseOthers(notices, claims); err == nil && len(fresh) > 0 {
		deliveries, err = a.store(fresh)
	}
	for i, claim := range claims {
		switch n := notices[i]; {
		case claim.Seq != 0 || claim.First != i:
		case err != nil:
			a.options.IDs.Release(n.ID)
		default:
			a.options.IDs.Commit(items[i], n.Seq, n.Timestamp())
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return receiptsOf(notices, claims), deliveries, nil
}

// refuseOthers refuses notices whose ids belong to others: all of them, so that a batch stays
// whole.
func refuseOthers(notices []*notice.Notice, claims []dedup.Claim) error {
	var bad []BadLine
	for i, claim := range claims {
		if n := notices[i]; claim.Other && len(bad) < MaxBadLines {
			bad = append(bad, BadLine{Line: n.Line, Field: "id",
				Error: fmt.Sprintf("id %q stands for a notice with another key, type or payload; give this one an id of its own", n.ID)})
		}
	}
	switch {
	case len(bad) == 0:
		return nil
	case bad[0].Line > 0:
		return RefuseLines(http.StatusConflict, bad)
	}
	return &refusal.Error{Status: http.StatusConflict, Field: "id", Text: bad[0].Error}
}

func receiptsOf(notices []*notice.Notice, claims []dedup.Claim) []Receipt {
	out := make([]Receipt, len(notices))
	for i, claim := range claims {
		out[i] = Receipt{ID: notices[i].ID, Seq: claim.Seq, Duplicate: claim.Seq != 0 || claim.First != i}
		if claim.Seq == 0 {
			out[i].Seq = notices[claim.First].Seq
		}
	}
	return out
}

var foundMatches = sync.Pool{New: func() any { return new(matches) }}

// store appends notices to the log and routes them, in the order of their numbers.
func (a *Acceptor) store(notices []*notice.Notice) (deliveries int, err error) {
	found := foundMatches.Get().(*matches)
	defer func() {
		found.reset()
		foundMatches.Put(found)
	}()
	owed, err := a.admit(notices, found)
	if err != nil {
		return 0, err
	}
	now, room := time.Now().UnixNano(), 0
	for _, n := range notices {
		n.Accepted = now
		room += n.RecordSize()
	}
	records, text := make([][]byte, len(notices)), make([]byte, 0, room)
	for i, n := range notices {
		from := len(text)
		text = n.AppendRecord(text)
		records[i] = text[from:len(text):len(text)]
		n.Payload = bytes.Clone(n.Payload) // releases the request's body
	}
	_, err = a.options.Store.Notices.Append(records, func(first uint64) {
		deliveries = a.route(first, notices, found)
	})
	a.options.Deliverer.decPending(int64(owed - deliveries)) // of subscriptions that came or went meanwhile
	return deliveries, a.options.Store.refuse(err)
}

// admit reserves the deliveries that notices will owe, or refuses them.
func (a *Acceptor) admit(notices []*notice.Notice, found *matches) (owed int, err error) {
	if a.stopped.Load() {
		return 0, refusal.New(http.StatusServiceUnavailable, "shutting down; send it to another instance or again later")
	}
	owed = a.options.Table.match(notices, found)
	pending := a.options.Deliverer.addPending(owed)
	switch lag := a.options.Deliverer.lag(); {
	case pending > int64(a.options.MaxPending):
		err = refusal.New(http.StatusTooManyRequests, "%d deliveries are owed; try again later", pending-int64(owed))
	case lag > a.options.MaxAge:
		err = refusal.New(http.StatusTooManyRequests, "notices have waited %v for a worker; try again later", lag.Round(time.Second))
	case a.options.Store.Notices.Size() > a.options.MaxLog:
		a.options.Store.full.Store(true)
		err = refusal.New(http.StatusTooManyRequests, "the log has reached %d bytes; try again when some has been delivered", a.options.MaxLog)
	}
	if err != nil {
		a.options.Deliverer.addPending(-owed)
	}
	return owed, err
}

// route hands notices that are durable to the subscriptions that want them, and shows them to
// streams. The log calls it in the order of the numbers, one call at a time.
func (a *Acceptor) route(first uint64, notices []*notice.Notice, found *matches) (deliveries int) {
	for i, n := range notices {
		n.Seq = first + uint64(i)
	}
	deliveries = a.options.Table.route(notices, found)
	a.options.Stream.grow(notices)
	return deliveries
}
