package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"dyno/services/orders/batcher"
	"dyno/services/orders/order"
)

// replicaPause is how long a replica that failed is not asked.
const replicaPause = time.Second

// OrderAtLeast reads an order from the replica if there is one that has this version of it already,
// else from the primary. The version can still be lower if it does not exist yet. A version below 1
// asks the primary: a replica does not know how far behind it is.
func (s *Store) OrderAtLeast(ctx context.Context, uid, version int64) (order.Order, error) {
	if !s.asksReplica(uid, version) {
		return s.Order(ctx, uid)
	}
	bounded, cancel := context.WithTimeout(ctx, s.replicaTime())
	o, err := s.replica.lookup.order(bounded, uid)
	cancel()
	if err == nil && o.Version >= version {
		return o, nil
	}
	if ctx.Err() == nil {
		s.learnReplica(err)
	}
	return s.Order(ctx, uid)
}

func (s *Store) asksReplica(uid, version int64) bool {
	return s.replica != nil && version >= 1 && uid >= 1 && time.Now().UnixNano() >= s.replicaRests.Load()
}

// replicaTime is the half of the time that is for the replica, so that the primary can still answer
// when it hangs.
func (s *Store) replicaTime() time.Duration { return s.options.Timeout / 2 }

// learnReplica takes in the error of a read.
func (s *Store) learnReplica(err error) {
	if err != nil && !errors.Is(err, order.ErrNotFound) {
		s.replicaRests.Store(time.Now().Add(replicaPause).UnixNano())
	}
}

// BeginAtLeast is OrderAtLeast without the wait, as Begin is Order.
func (s *Store) BeginAtLeast(uid, version int64, w Waiter) error {
	if !s.asksReplica(uid, version) {
		return s.Begin(uid, w)
	}
	r := &replicaRead{store: s, uid: uid, version: version, waiter: w}
	r.late = time.AfterFunc(s.replicaTime(), r.hangs)
	err := s.replica.lookup.begin(uid, r)
	if err == nil || r.over.Swap(true) {
		return nil
	}
	r.late.Stop()
	s.learnReplica(err)
	return s.Begin(uid, w)
}

// replicaRead is a read that asks the replica first. It does not touch its waiter after the waiter
// was answered, or has begun to wait for the primary: the waiter may be another read's by then.
type replicaRead struct {
	store        *Store
	uid, version int64
	waiter       Waiter
	late         *time.Timer
	over         atomic.Bool // the replica's part
}

// Wanted is of batcher.Waiter.
func (r *replicaRead) Wanted() bool { return !r.over.Load() && r.waiter.Wanted() }

// Answered is of batcher.Waiter.
func (r *replicaRead) Answered(found batcher.Answer[order.Order]) {
	if r.over.Swap(true) {
		return
	}
	r.late.Stop()
	if found.Err == nil && found.Found && found.Value.Version >= r.version {
		r.waiter.Answered(found)
		return
	}
	r.store.learnReplica(found.Err)
	r.primary()
}

// hangs gives the replica up.
func (r *replicaRead) hangs() {
	if !r.over.Swap(true) && r.waiter.Wanted() {
		r.store.learnReplica(context.DeadlineExceeded)
		r.primary()
	}
}

func (r *replicaRead) primary() {
	if err := r.store.Begin(r.uid, r.waiter); err != nil {
		r.waiter.Answered(batcher.Answer[order.Order]{Err: err})
	}
}
