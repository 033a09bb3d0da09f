package main

import (
	"context"
	"runtime"
	"sync"
	"time"

	"dyno/agent/monotonic"
	"dyno/bench/claims/queues/queue"
	"dyno/lab/load"
	"dyno/lab/record"
)

// message is what goes through the queue: 256 bytes.
type message struct {
	seq uint64
	put int64 // when, ns, monotonic
	_   [240]byte
}

// refusedStatus is how a refused message ends: as a service would answer that has no room.
const refusedStatus load.Status = 503

// driver puts messages on schedule and consumes them. Drive owns the consumers.
type driver struct {
	options
	queue queue.Queue[message]
	keys  keys
}

func (d *driver) Engine() string { return "queue-" + d.options.queue }

func (d *driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	shard := rec.Shards(1)[0]
	abandon, stop := context.WithCancel(ctx)
	defer stop()
	var consumers sync.WaitGroup
	for w := range d.workers {
		consumers.Go(func() { d.consume(abandon, w, rec) })
	}
	err := d.produce(ctx, p, shard)
	d.queue.Close()
	done := make(chan struct{})
	go func() {
		consumers.Wait()
		close(done)
	}()
	d.await(p.DrainUntil(), done, shard)
	stop() // what is left counts as undelivered
	<-done
	return err
}

// produce puts every message at its intended time, and reports immediately what became of it.
func (d *driver) produce(ctx context.Context, p *load.Plan, shard *load.Shard) error {
	runtime.LockOSThread() // its timer slack changes meanwhile
	defer runtime.UnlockOSThread()
	defer restorePacing(preparePacing())
	schedule := p.Schedule()
	last := p.Start // when the message before was done with
	for at, ok := schedule(); ok && ctx.Err() == nil; at, ok = schedule() {
		intended := p.Start + at
		for now := monotonic.Now(); now < intended && ctx.Err() == nil; now = monotonic.Now() {
			shard.Advance(now)
			sleepUntil(min(intended, now+int64(20*time.Millisecond)))
		}
		seq := shard.Arrive(intended)
		sent := monotonic.Now()
		shard.Sent(intended, sent, sent-max(intended, last))
		outcome := load.Completion{Seq: seq, Intended: intended, Sent: sent, Status: load.OK, Success: true}
		if !d.queue.Put(d.keys.of(mix(seq)), message{seq: seq, put: sent}) {
			outcome.Status, outcome.Success = refusedStatus, false
		}
		last = monotonic.Now()
		outcome.Done = last
		shard.Done(&outcome)
	}
	return ctx.Err()
}

// consume handles messages one after another. A consumer must take exactly the set time for each,
// but a timer fires late; so the time of a message that already waited counts from when the one
// before should have ended, and lateness does not add up.
func (d *driver) consume(abandon context.Context, worker int, rec *load.Recorder) {
	buf := make([]message, 1)
	free := int64(0) // since when this consumer should be
	for d.queue.Take(worker, buf) > 0 && abandon.Err() == nil {
		free = max(free, buf[0].put) + int64(d.work)
		now := monotonic.Now()
		for d.busy && now < free {
			now = monotonic.Now()
		}
		if now < free {
			time.Sleep(time.Duration(free - now))
			now = monotonic.Now()
		}
		rec.Delivered(buf[0].seq, now)
	}
}

// await lets the consumers finish, until the deadline, and keeps the windows moving.
func (d *driver) await(deadline int64, done <-chan struct{}, shard *load.Shard) {
	tick := time.NewTicker(record.WindowLength / 2)
	defer tick.Stop()
	for now := monotonic.Now(); now < deadline; now = monotonic.Now() {
		shard.Advance(now)
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// mix spreads sequence numbers over hashes (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
