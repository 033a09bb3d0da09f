package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const window = int64(record.WindowLength)

// Recorder collects the reports of a driver's threads. Each thread reports to a Shard of its own
// without locks; a collector merges the shards' windows and passes them to the sink.
type Recorder struct {
	plan *Plan
	sink Sink
	cpu  func() time.Duration // the process's CPU time so far
	// Realtime is set by a driver whose sending threads run at real-time priority.
	Realtime atomic.Bool
	usedUp   atomic.Bool // the driver ran out of requests

	shards    []*Shard
	intervals chan *interval
	collected chan struct{} // closed when the collector has ended
	pool      sync.Pool     // of *hdrhistogram.Histogram, empty

	unacked   *unacked   // requests that await their delivery; nil: no delivery is reported
	deliverMu sync.Mutex // guards deliver and what it points to
	deliver   *Shard     // shard of the deliveries; nil before the recording starts, or without deliveries
	latest    int64      // latest plausible stamp of a delivery; a later one must come from another clock

	failMu  sync.Mutex
	failure error              // the first failure; guarded by failMu
	cancel  context.CancelFunc // ends the drive

	ended int64 // instant from EndAt; 0: the plan's end counts

	collector collector // owned by the collector's goroutine until collected is closed
}

func newRecorder(p *Plan, sink Sink, cancel context.CancelFunc) *Recorder {
	r := &Recorder{plan: p, sink: sink, cpu: processCPU, cancel: cancel}
	r.pool.New = func() any { return record.NewHistogram() }
	r.collector.init(r)
	return r
}

// Shards starts the recording with n shards, one for each thread that will report. A driver calls
// it once, before it sends.
func (r *Recorder) Shards(n int) []*Shard {
	first := r.plan.windowOf(r.plan.Start - int64(r.plan.lead())) // windows before the start are empty
	all := n
	if r.plan.Deliveries > 0 {
		r.unacked = newUnacked(r.plan.Deliveries, n, r.plan.Start)
		all++
	}
	r.intervals = make(chan *interval, 64*max(all, 1)) // gives the collector over 6 s to catch up before a thread would wait
	stride := max(r.plan.Stride, 1)
	for k := range all {
		s := &Shard{rec: r, index: k, seq: r.plan.FirstSeq + uint64(k)*stride, stride: uint64(n) * stride, units: max(int64(r.plan.Units), 1), measureFrom: r.plan.MeasureFrom()}
		s.cur = s.open(first)
		r.shards = append(r.shards, s)
	}
	if all > n {
		r.deliverMu.Lock()
		r.deliver, r.latest = r.shards[n], r.plan.DrainUntil()+int64(foreignClock)
		r.deliverMu.Unlock()
	}
	r.collected = make(chan struct{})
	r.collector.begin(all, first)
	go r.collect()
	return r.shards[:n]
}

// foreignClock is how long after the run's planned end a delivery may be stamped. It is far
// longer than a run takes to end, and short enough that a wrong stamp cannot create an endless
// number of windows.
const foreignClock = time.Minute

// EndAt reports that the work ended at an instant before the plan did, so that rates are computed
// over the time until then. A driver calls it before Drive returns.
func (r *Recorder) EndAt(at int64) { r.ended = at }

// UsedUp reports that a driver has no request left, since each may be sent only once. The driver
// then waits for the requests in flight and returns.
func (r *Recorder) UsedUp() { r.usedUp.Store(true) }

// fail ends the drive; Run returns the first error.
func (r *Recorder) fail(err error) {
	r.failMu.Lock()
	defer r.failMu.Unlock()
	if r.failure == nil {
		r.failure = err
		r.cancel()
	}
}

// finish closes the shards at now, waits for the collector and returns the totals. It sets the
// plan's warm-up and length to those that were carried out: they end where the measured windows
// begin and end.
func (r *Recorder) finish(now int64) record.Totals {
	if r.collected == nil { // the driver failed before it sent anything
		return r.collector.totals()
	}
	r.expireAll(now)
	r.deliverMu.Lock() // no delivery may arrive while the shards are being closed
	for _, s := range r.shards {
		s.rotate(now, lastInstant, true)
	}
	r.deliverMu.Unlock()
	<-r.collected
	c := &r.collector
	end := min(now, r.plan.SendUntil())
	if r.ended != 0 {
		end = r.ended
	}
	for c.nextStart+window <= end { // empty windows after the last event
		c.emitOne()
	}
	if c.windows > 0 {
		r.plan.Warmup = time.Duration(c.measureFrom - r.plan.Start)
	}
	r.plan.Length = c.measured()
	for _, s := range r.shards {
		r.plan.Last, r.plan.NextSeq = max(r.plan.Last, s.lastDone), max(r.plan.NextSeq, s.seq)
		if s.agent != nil {
			c.agents = append(c.agents, *s.agent)
			c.sums.add(&s.missing)
		}
	}
	return c.totals()
}

// histogram returns an empty histogram; release returns it to the pool.
func (r *Recorder) histogram() *hdrhistogram.Histogram {
	return r.pool.Get().(*hdrhistogram.Histogram)
}

func (r *Recorder) release(h *hdrhistogram.Histogram) {
	h.Reset()
	h.SetTag("")
	r.pool.Put(h)
}

// awaitDeliveries returns when no request waits for its delivery any more, or at the deadline.
func (r *Recorder) awaitDeliveries(ctx context.Context, deadline int64) {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for r.unacked != nil && monotonic.Now() < deadline && r.unacked.Any() {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}
