package notify

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"dyno/agent/monotonic"
	"dyno/parts/queue"
)

// Config of a Dispatcher: the choice for each seam, and the settings. FromChoice reads one from an
// assembly, where the settings' defaults and bounds are.
type Config struct {
	Queue, Client, Encoding, Batching string // implementations, by name

	Workers       int
	QueueCapacity int
	BatchInflight int   // webhooks to one batching subscriber at once
	MaxPending    int   // notices, each counted once for every subscription that is to get it
	MaxBytes      int64 // of these
	MaxAttempts   int
	Timeout       time.Duration // of an attempt
	Backoff       time.Duration // after the first failed attempt; doubles
	MaxBackoff    time.Duration
	AllowPrivate  bool

	Tracer trace.Tracer // nil: no traces
}

// hashSeed spreads keys over whatever a queue keeps apart.
var hashSeed = maphash.MakeSeed()

// Dispatcher accepts notices and delivers them. It owns its workers and timers; Close ends them.
type Dispatcher struct {
	config Config
	encode encoder
	pack   packer
	client *http.Client
	lanes  *readyLanes
	spans  *spans // nil: no traces

	ctx     context.Context // of all attempts
	cancel  context.CancelFunc
	workers sync.WaitGroup
	busy    atomic.Int64 // workers that are sending

	reserved      atomic.Int64 // admitted and not finished: notices, per subscription
	reservedBytes atomic.Int64
	webhooks      atomic.Int64 // attempts answered with 2xx

	idle chan struct{} // gets a token whenever nothing is reserved any more

	mu       sync.RWMutex // guards the fields below; taken before a subscription's
	subs     map[string]*subscription
	departed counts // of deleted subscriptions
	draining bool
}

// New starts a dispatcher. An unknown name in c is an error that lists those that exist.
func New(c Config) (*Dispatcher, error) {
	newClient, err := pick("client", newClients, c.Client)
	if err != nil {
		return nil, err
	}
	newEncoder, err := pick("encoding", newEncoders, c.Encoding)
	if err != nil {
		return nil, err
	}
	newPacker, err := pick("batching", newPackers, c.Batching)
	if err != nil {
		return nil, err
	}
	q, err := queue.New[*lane](c.Queue, queue.Config{Capacity: c.QueueCapacity, Workers: c.Workers})
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{config: c, encode: newEncoder(), client: newClient(c), lanes: newReadyLanes(q), spans: newSpans(c.Tracer), subs: map[string]*subscription{}, idle: make(chan struct{}, 1)}
	d.pack = newPacker(c, d.lanes.put)
	d.ctx, d.cancel = context.WithCancel(context.Background())
	for w := range c.Workers {
		d.workers.Go(func() { d.work(w) })
	}
	return d, nil
}

// pick returns the implementation of a seam called name.
func pick[T any](seam string, impls map[string]T, name string) (T, error) {
	impl, ok := impls[name]
	if !ok {
		var names []string
		for n := range impls {
			names = append(names, n)
		}
		slices.Sort(names)
		return impl, fmt.Errorf("seam %s: nothing is called %q; there are %s", seam, name, strings.Join(names, ", "))
	}
	return impl, nil
}

// accept hands the notices to every subscription that wants them, or refuses them all. It returns how
// many deliveries are owed for them.
func (d *Dispatcher) accept(notices []*notice) (deliveries int, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.draining {
		return 0, refuse(http.StatusServiceUnavailable, "shutting down; send it to another instance or again later")
	}
	var n, size int64
	for _, sub := range d.subs {
		for _, notice := range notices {
			if !sub.disabled.Load() && sub.wants(notice) {
				n++
				size += int64(notice.size())
			}
		}
	}
	if !d.reserve(n, size) {
		d.bookRefused(notices)
		return 0, refuse(http.StatusTooManyRequests, "%d notices wait to be delivered; try again later", d.reserved.Load())
	}
	for _, notice := range notices {
		d.encode.prepare(notice)
	}
	var took counts
	var tookBytes int64
	for _, sub := range d.subs {
		k, bytes := d.enqueue(sub, notices)
		took.Accepted += k
		tookBytes += bytes
	}
	d.release(n-took.Accepted, size-tookBytes) // what a subscription disabled meanwhile did not take
	return int(took.Accepted), nil
}

// reserve admits n notices of that size, or none. Lanes that wait for a worker count too: those of a
// subscription that has gone hold no notices any more, but keep their place until a worker comes by.
func (d *Dispatcher) reserve(n, size int64) bool {
	pending, bytes := d.reserved.Add(n), d.reservedBytes.Add(size)
	most := int64(d.config.MaxPending)
	if pending <= most && bytes <= d.config.MaxBytes && d.lanes.waiting.Load()+n <= most {
		return true
	}
	d.release(n, size)
	return false
}

// release is for what was delivered, given up, or admitted but not taken.
func (d *Dispatcher) release(n, size int64) {
	d.reservedBytes.Add(-size)
	if d.reserved.Add(-n) == 0 {
		select {
		case d.idle <- struct{}{}:
		default:
		}
	}
}

// enqueue puts into a subscription's lanes what it wants.
func (d *Dispatcher) enqueue(sub *subscription, notices []*notice) (n, size int64) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.disabled.Load() {
		return 0, 0
	}
	for _, notice := range notices {
		if !sub.wants(notice) {
			continue
		}
		n++
		size += int64(notice.size())
		l := sub.lanes[notice.Key]
		if l != nil {
			l.append(notice)
			continue
		}
		l = &lane{sub: sub, key: notice.Key, hash: maphash.String(hashSeed, notice.Key)}
		sub.lanes[notice.Key] = l
		l.append(notice)
		d.pack.ready(l)
	}
	sub.counts.Accepted += n
	return n, size
}

func (d *Dispatcher) bookRefused(notices []*notice) {
	for _, sub := range d.subs {
		sub.mu.Lock()
		for _, notice := range notices {
			if !sub.disabled.Load() && sub.wants(notice) {
				sub.counts.Refused++
			}
		}
		sub.mu.Unlock()
	}
}

// work sends one webhook after another until the queue is closed.
func (d *Dispatcher) work(worker int) {
	buf := make([]*lane, 1)
	p := new(parcel)
	for entry := d.lanes.take(worker, buf); entry != nil; entry = d.lanes.take(worker, buf) {
		sub := entry.sub
		p.reset(sub)
		sub.mu.Lock()
		d.pack.pack(entry, p)
		d.spans.pick(p)
		sub.mu.Unlock()
		if len(p.parts) == 0 {
			continue // its subscription has gone, or another worker was there first
		}
		d.busy.Add(1)
		d.spans.begin(p)
		o := d.send(p)
		d.spans.end(p, o)
		d.busy.Add(-1)
		if d.ctx.Err() == nil {
			d.settle(p, o)
		}
	}
}

// settle books an attempt's outcome and decides what becomes of its lanes.
func (d *Dispatcher) settle(p *parcel, o outcome) {
	sub := p.sub
	sub.mu.Lock()
	defer sub.mu.Unlock()
	for _, part := range p.parts {
		l := part.lane
		switch {
		case l.state == laneGone:
			continue
		case o.delivered():
			d.finish(l, part.n, &sub.counts.Delivered)
		case o.status == http.StatusGone:
			d.bury(sub)
			continue
		case l.first.tries < d.config.MaxAttempts:
			d.park(l, max(o.after, d.backoff(l.first.tries)))
			continue
		default:
			d.finish(l, 1, &sub.counts.Dead)
		}
		if l.n > 0 {
			d.pack.ready(l)
		} else {
			delete(sub.lanes, l.key)
		}
	}
	if o.delivered() {
		d.webhooks.Add(1)
	}
	d.pack.done(p)
}

// finish takes the first n notices off a lane and counts them as delivered or dead.
func (d *Dispatcher) finish(l *lane, n int, as *int64) {
	var size int64
	for range n {
		size += int64(l.pop().notice.size())
	}
	*as += int64(n)
	d.release(int64(n), size)
}

// park lets a lane wait on a timer: it holds no worker, and other lanes go on.
func (d *Dispatcher) park(l *lane, wait time.Duration) {
	l.state, l.parked = laneParked, monotonic.Now()
	l.timer = time.AfterFunc(wait, func() {
		l.sub.mu.Lock()
		defer l.sub.mu.Unlock()
		if l.state == laneParked {
			l.timer = nil
			d.pack.ready(l)
		}
	})
}

// bury gives up everything that a subscription has not got, for good. The caller holds its mutex.
func (d *Dispatcher) bury(sub *subscription) {
	sub.disabled.Store(true)
	for key, l := range sub.lanes {
		l.state = laneGone
		if l.timer != nil {
			l.timer.Stop()
		}
		d.finish(l, l.n, &sub.counts.Dead)
		delete(sub.lanes, key)
	}
	sub.gather.waiting = nil
}

// backoff doubles with every attempt; half of it is random, so that receivers are not hit in step.
func (d *Dispatcher) backoff(tries int) time.Duration {
	wait := min(d.config.Backoff<<min(tries-1, 20), d.config.MaxBackoff)
	return wait/2 + rand.N(wait/2+1)
}
