package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"dyno/parts/wal"
	"dyno/services/notify/dedup"
	"dyno/services/notify/journal"
)

// receipt is what a client is told of one notice.
type receipt struct {
	ID        string `json:"id"`
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate,omitempty"` // it was accepted before, as this seq
}

// accept makes the notices durable and hands them to every subscription that wants them, or refuses them
// all. Those whose ids were accepted before are left out. It returns how many deliveries are owed.
func (d *Dispatcher) accept(ctx context.Context, notices []*notice) (receipts []receipt, deliveries int, err error) {
	receipts, deliveries, err = d.tryAccept(ctx, notices)
	if r := (*refusal)(nil); errors.As(err, &r) && r.status == http.StatusTooManyRequests {
		d.mu.RLock()
		defer d.mu.RUnlock()
		for _, n := range notices {
			d.routes.visit(n.Type, (*subscription).refuse)
		}
	}
	return receipts, deliveries, err
}

// tryAccept is accept for notices that are handed in again, fewer together, when they are refused: that does not count
// as refused.
func (d *Dispatcher) tryAccept(ctx context.Context, notices []*notice) (receipts []receipt, deliveries int, err error) {
	items := make([]dedup.Item, len(notices))
	for i, n := range notices {
		items[i] = n.item()
	}
	claims, err := d.ids.ClaimAll(ctx, items)
	if err != nil {
		return nil, 0, refuse(http.StatusServiceUnavailable, "another request with this id has not ended; try again")
	}
	fresh := make([]*notice, 0, len(notices))
	for i, claim := range claims {
		if claim.Seq == 0 && claim.First == i {
			fresh = append(fresh, notices[i])
		}
	}
	if err = refuseOthers(notices, claims); err == nil && len(fresh) > 0 {
		deliveries, err = d.store(fresh)
	}
	for i, claim := range claims {
		switch n := notices[i]; {
		case claim.Seq != 0 || claim.First != i:
		case err != nil:
			d.ids.Release(n.ID)
		default:
			d.ids.Settle(items[i], n.seq, n.timestamp())
		}
	}
	if err != nil {
		return nil, 0, err
	}
	return receiptsOf(notices, claims), deliveries, nil
}

// refuseOthers refuses notices whose ids stand for others: all of them, so that a batch stays whole.
func refuseOthers(notices []*notice, claims []dedup.Claim) error {
	var bad []badLine
	for i, claim := range claims {
		if n := notices[i]; claim.Other && len(bad) < maxBadLines {
			bad = append(bad, badLine{n.line, "id", fmt.Sprintf("id %q stands for a notice with another key, type or payload; give this one an id of its own", n.ID)})
		}
	}
	switch {
	case len(bad) == 0:
		return nil
	case bad[0].Line > 0:
		return refuseLines(http.StatusConflict, bad)
	}
	return &refusal{status: http.StatusConflict, field: "id", text: bad[0].Error}
}

func receiptsOf(notices []*notice, claims []dedup.Claim) []receipt {
	out := make([]receipt, len(notices))
	for i, claim := range claims {
		out[i] = receipt{ID: notices[i].ID, Seq: claim.Seq, Duplicate: claim.Seq != 0 || claim.First != i}
		if claim.Seq == 0 {
			out[i].Seq = notices[claim.First].seq
		}
	}
	return out
}

// store appends notices to the log and routes them, in the order of their numbers.
func (d *Dispatcher) store(notices []*notice) (deliveries int, err error) {
	owed, err := d.admit(notices)
	if err != nil {
		return 0, err
	}
	now, room := time.Now().UnixNano(), 0
	for _, n := range notices {
		n.accepted = now
		room += n.recordSize()
	}
	records, text := make([][]byte, len(notices)), make([]byte, 0, room)
	for i, n := range notices {
		from := len(text)
		text = n.appendRecord(text)
		records[i] = text[from:len(text):len(text)]
		d.encode.prepare(n)
	}
	_, err = d.notices.Append(records, func(first uint64) {
		deliveries = d.route(first, notices)
	})
	d.settled(int64(owed - deliveries)) // what subscriptions that came or went meanwhile changed
	return deliveries, d.unstored(err)
}

// unstored gives an error of the log the status that it deserves.
func (d *Dispatcher) unstored(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, wal.ErrFull):
		d.full.Store(true)
		d.failing(err)
		return refuse(http.StatusInsufficientStorage, "the disk is full: nothing was stored; what was delivered is being given up, so try again, and free some space if that does not help")
	case errors.Is(err, wal.ErrTooLarge):
		return refuse(http.StatusRequestEntityTooLarge, "nothing was stored: %v, or send it in parts", err)
	}
	d.failing(err)
	return refuse(http.StatusServiceUnavailable, "it could not be stored: %v", err)
}

// admit reserves the deliveries that notices will owe, or refuses them.
func (d *Dispatcher) admit(notices []*notice) (owed int, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.draining {
		return 0, refuse(http.StatusServiceUnavailable, "shutting down; send it to another instance or again later")
	}
	for _, n := range notices {
		d.routes.visit(n.Type, func(*subscription) { owed++ })
	}
	pending := d.pending.Add(int64(owed))
	switch lag := d.lanes.lag(); {
	case pending > int64(d.config.MaxPending):
		err = refuse(http.StatusTooManyRequests, "%d deliveries are owed; try again later", pending-int64(owed))
	case lag > d.config.MaxAge:
		err = refuse(http.StatusTooManyRequests, "notices have waited %v for a worker; try again later", lag.Round(time.Second))
	case d.notices.Size() > d.config.MaxLog:
		d.full.Store(true)
		err = refuse(http.StatusTooManyRequests, "the log has reached %d bytes; try again when some has been delivered", d.config.MaxLog)
	}
	if err != nil {
		d.pending.Add(-int64(owed))
	}
	return owed, err
}

func (sub *subscription) refuse() {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.counts.Refused++
}

// route hands notices that are durable to who wants them. It is called in the order of the numbers, one call
// at a time.
func (d *Dispatcher) route(first uint64, notices []*notice) (deliveries int) {
	d.mu.RLock() // a subscription comes or goes before all of them or after
	defer d.mu.RUnlock()
	for i, n := range notices {
		n.seq = first + uint64(i)
		d.routes.visit(n.Type, func(sub *subscription) {
			d.offer(sub, n)
			n.owed++
		})
		deliveries += n.owed
	}
	d.head.Store(first + uint64(len(notices)))
	d.tail.grow(notices)
	return deliveries
}

// logRoom is about what a log takes for a record beside its bytes.
const logRoom = 32

// meanOver is over about how many notices their mean size is taken.
const meanOver = 64

// offer gives a subscription the newest notice: into memory, or if that is full, by leaving it in the log.
func (d *Dispatcher) offer(sub *subscription, n *notice) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.counts.Accepted++
	logged := float64(n.recordSize() + logRoom)
	if sub.mean == 0 {
		sub.mean = logged
	}
	sub.mean += (logged - sub.mean) / meanOver
	b := &sub.behind
	b.routed = n.seq + 1
	switch {
	case b.backlog > 0:
		b.backlog++
	case d.room(sub):
		d.resume(sub, &item{notice: n}, journal.Waiting{})
	default:
		b.loaded, b.backlog = n.seq, 1
		d.pager.lags(sub)
	}
}
