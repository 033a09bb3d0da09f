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
	c, err := a.claim(ctx, notices)
	if err != nil {
		return nil, 0, err
	}
	if err = refuseOthers(notices, c.claims); err == nil && len(c.fresh) > 0 {
		deliveries, err = a.store(c.fresh)
	}
	for i := range notices {
		if c.isFresh(i) {
			a.settle(c.items[i], notices[i], err)
		}
	}
	if err != nil {
		if statusOf(err) == http.StatusTooManyRequests {
			a.options.Table.refused(notices)
		}
		return nil, 0, err
	}
	return receiptsOf(notices, c.claims), deliveries, nil
}

// claimed are notices whose ids were looked up.
type claimed struct {
	items  []dedup.Item
	claims []dedup.Claim
	fresh  []*notice.Notice // whose ids are the caller's until settle
}

// isFresh reports whether the notice with index i is among those that are fresh.
func (c *claimed) isFresh(i int) bool { return c.claims[i].Seq == 0 && c.claims[i].First == i }

func (a *Acceptor) claim(ctx context.Context, notices []*notice.Notice) (c claimed, err error) {
	c.items = make([]dedup.Item, len(notices))
	for i, n := range notices {
		c.items[i] = dedup.Item{ID: n.ID, Content: n.Content()}
	}
	c.claims, err = a.options.IDs.ClaimAll(ctx, c.items)
	if err != nil {
		return c, refusal.New(http.StatusServiceUnavailable, "another request with this id has not ended; try again")
	}
	c.fresh = make([]*notice.Notice, 0, len(notices))
	for i, n := range notices {
		if c.isFresh(i) {
			c.fresh = append(c.fresh, n)
		}
	}
	return c, nil
}

// settle commits a fresh notice's id, or releases it if err refused the notice.
func (a *Acceptor) settle(item dedup.Item, n *notice.Notice, err error) {
	if err != nil {
		a.options.IDs.Release(item.ID)
		return
	}
	a.options.IDs.Commit(item, n.Seq, n.Timestamp())
}

// statusOf is the status of a refusal; 0 of another error.
func statusOf(err error) int {
	r := (*refusal.Error)(nil)
	if !errors.As(err, &r) {
		return 0
	}
	return r.Status
}

// refuseOthers refuses notices whose ids belong to others: all of them, so that a batch stays
// whole.
func refuseOthers(notices []*notice.Notice, claims []dedup.Claim) error {
	var bad []BadLine
	for i, claim := range claims {
		if n := notices[i]; claim.Other && len(bad) < MaxBadLines {
			bad = append(bad, BadLine{Line: n.Line, Field: "id", Error: belongsToOther(n).Text})
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

// belongsToOther refuses a notice whose id belongs to another.
func belongsToOther(n *notice.Notice) *refusal.Error {
	return &refusal.Error{Status: http.StatusConflict, Field: "id",
		Text: fmt.Sprintf("id %q stands for a notice with another key, type or payload; give this one an id of its own", n.ID)}
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

func (m *matches) release() {
	m.reset()
	foundMatches.Put(m)
}

// store appends notices to the log and routes them, in the order of their numbers.
func (a *Acceptor) store(notices []*notice.Notice) (deliveries int, err error) {
	found := foundMatches.Get().(*matches)
	defer found.release()
	owed, err := a.admit(notices, found)
	if err != nil {
		return 0, err
	}
	return a.append(notices, owed, found)
}

// append is store for notices that were admitted.
func (a *Acceptor) append(notices []*notice.Notice, owed int, found *matches) (deliveries int, err error) {
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
