package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"dyno/parts/refusal"
	"dyno/services/notify/timers"
	"dyno/services/notify/webhook"
)

// DelivererOptions of a Deliverer.
type DelivererOptions struct {
	Sender *webhook.Sender
	Store  *Store

	Batching    string // implementation, by name
	Workers     int
	MaxAttempts int
	Backoff     time.Duration // after the first failed attempt; doubles
	MaxBackoff  time.Duration
	Window      int          // notices of one subscription in memory
	Memory      int64        // bytes of all pending notices in memory
	Tracer      trace.Tracer // nil means no traces
}

const (
	// maxConcurrency bounds the webhooks in flight to one receiver.
	maxConcurrency = 4096
	// DefaultConcurrency is the bound for a subscription that does not set its own.
	DefaultConcurrency = 32
)

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
	disable   func(id, address, cause string)
	owned     sync.WaitGroup // goroutines other than workers

	counters
	lagging lagging
	room    chan struct{} // holds one token: a subscription may have room for what waits in the log
}

// counters are for reading; the Deliverer counts.
type counters struct {
	Busy     atomic.Int64 // workers that are sending
	Attempts atomic.Int64 // webhooks sent
	Webhooks atomic.Int64 // webhooks answered with 2xx
	Pending  atomic.Int64 // deliveries owed
	Loaded   atomic.Int64 // bytes of the notices in memory, each counted for every subscription
	Lost     atomic.Int64 // deliveries that cannot be made, found since the process began
}

// NewDeliverer returns a deliverer that does not send yet. An unknown name in o is an error that
// lists those that exist.
func NewDeliverer(o DelivererOptions) (*Deliverer, error) {
	pack, err := refusal.Pick("batching", packers, o.Batching)
	if err != nil {
		return nil, err
	}
	d := &Deliverer{
		options: o, pack: pack, spans: spans{o.Tracer}, durations: newDurations(),
		lagging: lagging{subs: map[*subscriber]bool{}}, room: make(chan struct{}, 1),
	}
	d.init(newRunQueue(), backoff{o.Backoff, o.MaxBackoff})
	return d, nil
}

// Start starts the workers and the timers. The end of ctx breaks off all attempts; disable is
// called for a subscription whose receiver at that address is gone.
func (d *Deliverer) Start(ctx context.Context, disable func(id, address, cause string)) {
	d.ctx, d.disable = ctx, disable
	d.workers = newWorkers(d.timers, d.options.Workers, d.work)
	d.owned.Go(func() { d.timers.Run(ctx) })
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

// addPending adds deliveries that are owed from now on, and returns the sum.
func (d *Deliverer) addPending(n int) int64 { return d.Pending.Add(int64(n)) }

// decPending takes off deliveries that are not owed any more.
func (d *Deliverer) decPending(n int64) {
	if d.Pending.Add(-n) == 0 {
		d.signalIdle()
	}
}

// Out is how many lanes are with the workers or on their way to them.
func (d *Deliverer) Out() int64 { return d.out.Load() }

// Idle gets a token whenever no lane is out, no delivery is owed, or signalIdle was called.
func (d *Deliverer) Idle() <-chan struct{} { return d.idle }

// signalRoom says that a subscription may have room for what waits in the log.
func (d *Deliverer) signalRoom() {
	select {
	case d.room <- struct{}{}:
	default:
	}
}

// lag is how long the next lane has waited for a worker.
func (d *Deliverer) lag() time.Duration { return d.queue.lag() }

// Lagging counts the subscriptions that have a backlog in the log.
func (d *Deliverer) Lagging() int { return len(d.lagging.all()) }

// report passes an error of the journal on; nil is none.
func (d *Deliverer) report(err error) {
	if err != nil {
		d.options.Store.Report(err)
	}
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

// outlet is where limiters hand lanes to: the run queue, and the timers that end pauses.
type outlet struct {
	queue   *runQueue
	timers  *timers.Queue
	backoff backoff
	out     atomic.Int64  // lanes that were let through to the workers
	idle    chan struct{} // gets a token whenever no lane is out, or no delivery is owed
}

func (o *outlet) init(q *runQueue, b backoff) {
	o.queue, o.timers, o.backoff, o.idle = q, timers.New(Tick), b, make(chan struct{}, 1)
}

// signalIdle puts a token into Idle.
func (o *outlet) signalIdle() {
	select {
	case o.idle <- struct{}{}:
	default:
	}
}
