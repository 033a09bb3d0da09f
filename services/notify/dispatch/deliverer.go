package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/refusal"
	"dyno/services/notify/journal"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
	"dyno/services/notify/wheel"
)

// DelivererOptions of a Deliverer.
type DelivererOptions struct {
	Sender  *webhook.Sender
	Journal *journal.Journal
	Report  func(error) // receives errors of the journal

	Batching    string // implementation, by name
	Workers     int
	MaxAttempts int
	Backoff     time.Duration // after the first failed attempt; doubles
	MaxBackoff  time.Duration
	Window      int          // notices of one subscription in memory
	Memory      int64        // bytes of all pending notices in memory
	Tracer      trace.Tracer // nil means no traces
}

// Tick is the resolution of retries and pauses.
const Tick = time.Millisecond

// Deliverer delivers what receivers have in memory.
type Deliverer struct {
	outlet
	options   DelivererOptions
	pack      packer
	workers   *workers
	spans     spans
	durations *durations
	ctx       context.Context // of all attempts
	disable   Disable
	owned     sync.WaitGroup // goroutines other than workers

	Counters
	room chan struct{} // holds one token: a subscription may have room for what waits in the log
}

// Counters are for reading; the Deliverer counts.
type Counters struct {
	Busy     atomic.Int64 // workers that are sending
	Attempts atomic.Int64 // webhooks sent
	Webhooks atomic.Int64 // webhooks answered with 2xx
	Pending  atomic.Int64 // deliveries owed
	Loaded   atomic.Int64 // bytes of the notices in memory, each counted for every subscription
}

// NewDeliverer returns a deliverer that does not send yet. An unknown name in o is an error that
// lists those that exist.
func NewDeliverer(o DelivererOptions) (*Deliverer, error) {
	pack, err := refusal.Pick("batching", packers, o.Batching)
	if err != nil {
		return nil, err
	}
	d := &Deliverer{options: o, pack: pack, spans: spans{o.Tracer}, durations: newDurations(), room: make(chan struct{}, 1)}
	d.init(newRunQueue(), backoff{o.Backoff, o.MaxBackoff})
	return d, nil
}

// Disable disables a subscription if its webhooks go to that address.
type Disable func(id, address, cause string)

// Start starts the workers and the timers. The end of ctx breaks off all attempts; disable is for
// subscriptions whose receivers are gone.
func (d *Deliverer) Start(ctx context.Context, disable Disable) {
	d.ctx, d.disable = ctx, disable
	d.workers = newWorkers(d.wheel, d.options.Workers, d.work)
	d.owned.Go(func() { d.wheel.Run(ctx) })
}

// Stop waits for everything that runs. The context of Start has ended, or there was no Start.
func (d *Deliverer) Stop() {
	d.queue.close()
	if d.workers != nil {
		d.workers.stop()
	}
	d.owned.Wait()
	d.options.Sender.Close()
}

// Resize changes the number of workers while they run.
func (d *Deliverer) Resize(workers int) { d.workers.resize(workers) }

// AddPending adds deliveries that are owed from now on, and returns the sum.
func (d *Deliverer) AddPending(n int) int64 { return d.Pending.Add(int64(n)) }

// DecPending takes off deliveries that are not owed any more.
func (d *Deliverer) DecPending(n int64) {
	if d.Pending.Add(-n) == 0 {
		d.SignalIdle()
	}
}

// Out is how many lanes are with the workers or on their way to them.
func (d *Deliverer) Out() int64 { return d.out.Load() }

// Idle gets a token whenever no lane is out, no delivery is owed, or SignalIdle was called.
func (d *Deliverer) Idle() <-chan struct{} { return d.idle }

// Room gets a token when a subscription may have room for what waits in the log.
func (d *Deliverer) Room() <-chan struct{} { return d.room }

// SignalRoom puts a token into Room.
func (d *Deliverer) SignalRoom() {
	select {
	case d.room <- struct{}{}:
	default:
	}
}

// Lag is how long the next lane has waited for a worker.
func (d *Deliverer) Lag() time.Duration { return d.queue.lag() }

// floorItems of each subscription are let into memory however full it is, so that each makes
// progress.
const floorItems = 4

// HasCapacity reports whether a subscription may have another notice in memory. Its mutex is held.
func (d *Deliverer) HasCapacity(r *Receiver) bool {
	return r.n < d.options.Window && (d.Loaded.Load() < d.options.Memory || r.n < floorItems)
}

// WorthReading reports whether reading the log for a subscription is worthwhile: half of its window
// is free, or all it has not got fits in. So a pass that begins with it hands out many notices, and
// the subscriptions ahead of it have their turn. Its mutex is held.
func (d *Deliverer) WorthReading(r *Receiver) bool {
	w := d.options.Window
	if d.Loaded.Load() >= d.options.Memory {
		w = min(w, floorItems)
	}
	return r.n <= w/2 || int64(r.n)+r.Backlog <= int64(w)
}

// onDelivered asks for more from the log when a subscription has got something and less than half
// of its window is in use. Its mutex is held.
func (d *Deliverer) onDelivered(r *Receiver) {
	if r.Backlog > 0 && r.n <= d.options.Window/2 {
		d.SignalRoom()
	}
}

// Resume loads a notice of which attempts may have failed before; replayed says that it was a dead
// letter. The subscription's mutex is held.
func (d *Deliverer) Resume(r *Receiver, n *notice.Notice, w subscription.Waiting, replayed bool) {
	it := &item{notice: n, tries: w.Tries, replayed: replayed}
	l, fresh := r.lane(n.Key)
	l.append(it)
	d.Loaded.Add(n.Cost())
	switch wait := min(time.Until(w.Next), max(d.options.MaxBackoff, webhook.MaxRetryAfter)); { // the clock may have been wrong
	case !fresh:
	case wait > 0:
		r.park(l, wait)
	default:
		r.limiter.enqueue(l)
	}
}

// replay puts a dead letter at the end of its key's lane. The receiver's mutex is held.
func (d *Deliverer) replay(r *Receiver, letter subscription.DeadLetter, record []byte) error {
	n, err := notice.Decode(letter.Seq, record)
	if err != nil {
		return err
	}
	d.AddPending(1)
	d.Resume(r, n, letter.Retry, true)
	return nil
}

// sendTest sends one notice to one subscription, now and once.
func (d *Deliverer) sendTest(r *Receiver, n *notice.Notice) webhook.Outcome {
	r.Mu.Lock()
	w := webhook.Webhook{Target: r.target, Notices: []*notice.Notice{n}}
	r.Mu.Unlock()
	return d.options.Sender.Send(d.ctx, r.ID, &w)
}

// Workers counts the workers wanted, without those that hang, and those whose attempts hang.
func (d *Deliverer) Workers() (target, hanging int) { return d.workers.count() }

// QueueStats are figures of the queue to the workers.
type QueueStats struct {
	Ready int    // lanes that wait for a worker
	Peak  int    // the most lanes that ever waited
	Parks uint64 // times that a worker found the queue empty and slept
}

// QueueStats reads the queue's figures.
func (d *Deliverer) QueueStats() QueueStats { return d.queue.stats() }

// Durations are the attempts' durations, by class of answer.
func (d *Deliverer) Durations() prometheus.Collector { return d.durations.histogram }

// outlet is where limiters hand lanes to: the run queue, and the wheel that ends pauses.
type outlet struct {
	queue   *runQueue
	wheel   *wheel.Wheel
	backoff backoff
	out     atomic.Int64  // lanes that were let through to the workers
	idle    chan struct{} // gets a token whenever no lane is out, or no delivery is owed
}

func (o *outlet) init(q *runQueue, b backoff) {
	o.queue, o.wheel, o.backoff, o.idle = q, wheel.New(Tick), b, make(chan struct{}, 1)
}

// SignalIdle puts a token into Idle.
func (o *outlet) SignalIdle() {
	select {
	case o.idle <- struct{}{}:
	default:
	}
}
