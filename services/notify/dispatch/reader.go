package dispatch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// ReaderOptions of a Reader.
type ReaderOptions struct {
	Store     *Store
	Table     *Table
	Deliverer *Deliverer
	KeepAge   time.Duration // for which a notice is owed to a subscription
	Log       *slog.Logger
}

// Reader gives subscriptions their notices: into memory, or later from the log.
type Reader struct {
	ReaderOptions
	lost atomic.Int64 // deliveries that cannot be made, found since the process began

	mu      sync.Mutex
	lagging map[*Subscription]bool // that have a backlog
}

// NewReader returns a reader.
func NewReader(o ReaderOptions) *Reader {
	return &Reader{ReaderOptions: o, lagging: map[*Subscription]bool{}}
}

// Run reads from the log what there is room for, until ctx ends.
func (r *Reader) Run(ctx context.Context) {
	again := time.NewTicker(100 * time.Millisecond) // memory that other subscriptions released signals no room
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.Deliverer.Room():
		case <-again.C:
		}
		for ctx.Err() == nil && r.scanOnce(ctx) {
		}
		r.Deliverer.SignalIdle()
	}
}

// Lost counts deliveries that cannot be made, found since the process began.
func (r *Reader) Lost() int64 { return r.lost.Load() }

// Lagging lists the subscriptions that have a backlog.
func (r *Reader) Lagging() []*Subscription {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.lagging))
}

func (r *Reader) addLagging(sub *Subscription) {
	r.mu.Lock()
	r.lagging[sub] = true
	r.mu.Unlock()
	r.Deliverer.SignalRoom()
}

func (r *Reader) removeLagging(sub *Subscription) {
	r.mu.Lock()
	delete(r.lagging, sub)
	r.mu.Unlock()
}

// Reading reports whether a subscription is about to get more from the log.
func (r *Reader) Reading() bool {
	return slices.ContainsFunc(r.Lagging(), func(sub *Subscription) bool {
		sub.Mu.Lock()
		defer sub.Mu.Unlock()
		return sub.Backlog > 0 && !sub.Gone && (sub.Out() > 0 || r.Deliverer.WorthReading(&sub.Receiver))
	})
}

const (
	logOverhead = 32 // about what a log takes for a record beside its bytes
	meanOver    = 64 // about how many notices their mean size is taken over
)

// Offer gives a subscription the newest notice: into memory, or if that is full, by leaving it in
// the log.
func (r *Reader) Offer(sub *Subscription, n *notice.Notice) {
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	sub.Counts.Accepted++
	logged := float64(n.RecordSize() + logOverhead)
	if sub.Mean == 0 {
		sub.Mean = logged
	}
	sub.Mean += (logged - sub.Mean) / meanOver
	sub.Cursor.Routed = n.Seq + 1
	switch {
	case sub.Backlog > 0:
		sub.Backlog++
	case r.Deliverer.HasCapacity(&sub.Receiver):
		r.Deliverer.Resume(&sub.Receiver, n, subscription.Waiting{}, false)
	default:
		sub.Cursor.Loaded, sub.Backlog = n.Seq, 1
		r.addLagging(sub)
	}
}

// onCaughtUp forgets the backlog of a subscription that has in memory all it has not got. Its mutex
// is held.
func (r *Reader) onCaughtUp(sub *Subscription) {
	c := &sub.Cursor
	c.Todo, c.AckedAhead, c.Failed = nil, nil, nil
	r.removeLagging(sub)
}

// overdue reports whether a notice has been owed for longer than keep. since is unix time in ns.
func overdue(since int64, keep time.Duration) bool {
	return time.Now().UnixNano()-since > int64(keep)
}
