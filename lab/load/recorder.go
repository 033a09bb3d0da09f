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

// Recorder collects what a driver's threads report. Each thread reports to a Shard of its own without
// locks; a collector puts the shards' windows together and hands them to the sink.
type Recorder struct {
	plan *Plan
	sink Sink
	// Realtime is set by a driver whose sending threads run at real-time priority.
	Realtime atomic.Bool

	shards    []*Shard
	intervals chan *interval
	collected chan struct{} // closed when the collector has ended
	pool      sync.Pool     // of *hdrhistogram.Histogram, empty

	awaiting  []atomic.Int64 // intended times of offers without a receipt, by seq modulo its length
	deliverMu sync.Mutex
	deliver   *Shard // guarded by deliverMu

	collector collector // owned by the collector's goroutine until collected is closed
}

func newRecorder(p *Plan, sink Sink) *Recorder {
	r := &Recorder{plan: p, sink: sink, collected: make(chan struct{})}
	r.pool.New = func() any { return record.NewHistogram() }
	if p.Deliveries > 0 {
		size := 1024
		for size < p.Deliveries {
			size *= 2
		}
		r.awaiting = make([]atomic.Int64, size)
	}
	return r
}

// Shards starts the recording with n shards, one for each thread that will report. A driver calls it
// once, before it sends.
func (r *Recorder) Shards(n int) []*Shard {
	first := (r.plan.Start - int64(lead)) / window * window // windows before the start hold nothing
	all := n
	if r.awaiting != nil {
		all++ // the receipts' own
	}
	r.intervals = make(chan *interval, 64*all) // over 6 s for the collector to catch up before a thread would wait
	for k := range all {
		s := &Shard{rec: r, index: k, seq: uint64(k), stride: uint64(n), measureFrom: r.plan.MeasureFrom()}
		s.cur = s.open(first)
		r.shards = append(r.shards, s)
	}
	if all > n {
		r.deliver = r.shards[n]
	}
	r.collector.init(r, all, first)
	go r.collect()
	return r.shards[:n]
}

// Shard is one thread's view of the recorder. It is not safe for concurrent use.
type Shard struct {
	rec         *Recorder
	index       int
	cur         *interval
	seq, stride uint64
	measureFrom int64
}

// interval is what one shard saw in one window.
type interval struct {
	shard       int
	start, next int64 // next: the shard has nothing more to say before this instant
	client      record.Client
	finished    int64 // offers that ended, however
	measured    counts
	service     *hdrhistogram.Histogram
	lag         *hdrhistogram.Histogram
	delivery    *hdrhistogram.Histogram
	response    []responses
	threadCPU   time.Duration // of the reporting thread, so far; 0: not known
	last        bool
}

// counts are sums over offers that were intended within the measured time.
type counts struct {
	offered, sent, completed, failed, unfinished int64
	delivered, undelivered, duplicates           int64
	errors                                       [statusEnd]int64
	failedCheck, failedStatus                    int64
}

func (c *counts) add(o *counts) {
	c.offered += o.offered
	c.sent += o.sent
	c.completed += o.completed
	c.failed += o.failed
	c.unfinished += o.unfinished
	c.delivered += o.delivered
	c.undelivered += o.undelivered
	c.duplicates += o.duplicates
	c.failedCheck += o.failedCheck
	c.failedStatus += o.failedStatus
	for i, n := range o.errors {
		c.errors[i] += n
	}
}

// responses is the response times of one status and class.
type responses struct {
	status Status
	class  uint8
	warm   bool // offered before the measured time
	hist   *hdrhistogram.Histogram
}

func (s *Shard) open(start int64) *interval { return &interval{shard: s.index, start: start} }

// Advance moves the shard to the window of now. Offer, Sent and Done do so by themselves; a thread that
// has nothing to report calls it at least every 100 ms, so that windows do not wait for it.
func (s *Shard) Advance(now int64) {
	if now < s.cur.start+window {
		return
	}
	s.rotate(now/window*window, false)
}

func (s *Shard) rotate(next int64, last bool) {
	s.cur.next, s.cur.last = next, last
	s.rec.intervals <- s.cur
	s.cur = s.open(next)
}

// ThreadCPU reports the CPU time the calling thread has used so far.
func (s *Shard) ThreadCPU(used time.Duration) { s.cur.threadCPU = used }

// Offer reports that an offer has come due and returns its sequence number, which is unique in the run.
// Offers of a shard are reported in the order of their intended times.
func (s *Shard) Offer(intended int64) (seq uint64) {
	s.Advance(intended)
	s.cur.client.Offered++
	if intended >= s.measureFrom {
		s.cur.measured.offered++
	}
	seq = s.seq
	s.seq += s.stride
	if a := s.rec.awaiting; a != nil {
		if old := a[seq&uint64(len(a)-1)].Swap(intended); old != 0 {
			s.rec.undelivered(old, intended)
		}
	}
	return seq
}

// Sent reports that an offer was sent at an instant, lag ns after it could have been.
func (s *Shard) Sent(intended, at, lag int64) {
	s.Advance(at)
	s.cur.client.Sent++
	if intended < s.measureFrom {
		return
	}
	s.cur.measured.sent++
	s.record(&s.cur.lag, lag)
}

// Outcome is how an offer ended.
type Outcome struct {
	Seq      uint64
	Intended int64 // ns, monotonic
	Sent     int64 // ns, monotonic; 0: it was never sent
	Done     int64 // ns, monotonic
	Status   Status
	Class    uint8
	Success  bool // the answer passed every check
	Checked  bool // it was a check of the content that failed, not the status
}

// Done reports how an offer ended.
func (s *Shard) Done(o *Outcome) {
	s.Advance(o.Done)
	c := &s.cur.client
	s.cur.finished++
	c.Completed++
	if !o.Success {
		c.Failed++
		if o.Status.turnedAway() {
			c.Refused++
		}
		if a := s.rec.awaiting; a != nil { // nobody will deliver what was not accepted
			a[o.Seq&uint64(len(a)-1)].CompareAndSwap(o.Intended, 0)
		}
	}
	warm := o.Intended < s.measureFrom
	s.recordResponse(o.Status, o.Class, warm, o.Done-o.Intended)
	if warm {
		return
	}
	m := &s.cur.measured
	m.completed++
	if !o.Success {
		m.failed++
		switch {
		case o.Checked:
			m.failedCheck++
		case o.Status.protocol():
			m.failedStatus++
		default:
			m.errors[o.Status]++
		}
	}
	if o.Sent != 0 {
		s.record(&s.cur.service, o.Done-o.Sent)
	}
}

// Unfinished reports an offer that was still waiting or under way at now, when the run ended.
func (s *Shard) Unfinished(intended, now int64, class uint8) {
	s.Advance(now)
	s.cur.finished++
	if intended >= s.measureFrom {
		s.cur.measured.unfinished++
		s.recordResponse(Unfinished, class, false, now-intended)
	}
}

func (s *Shard) record(h **hdrhistogram.Histogram, ns int64) {
	if *h == nil {
		*h = s.rec.pool.Get().(*hdrhistogram.Histogram)
	}
	(*h).RecordValue(record.Clamp(ns)) // within range, so it cannot fail
}

func (s *Shard) recordResponse(status Status, class uint8, warm bool, ns int64) {
	for i := range s.cur.response {
		if r := &s.cur.response[i]; r.status == status && r.class == class && r.warm == warm {
			r.hist.RecordValue(record.Clamp(ns))
			return
		}
	}
	r := responses{status: status, class: class, warm: warm}
	s.record(&r.hist, ns)
	s.cur.response = append(s.cur.response, r)
}

// Delivered reports a receipt: the offer of that sequence number reached its destination at an instant.
// It is safe for concurrent use.
func (r *Recorder) Delivered(seq uint64, at int64) {
	intended := r.awaiting[seq&uint64(len(r.awaiting)-1)].Swap(0)
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	s.Advance(at)
	switch {
	case intended == 0:
		s.cur.measured.duplicates++
		return
	case intended >= s.measureFrom:
		s.cur.measured.delivered++
		s.record(&s.cur.delivery, at-intended)
	}
	s.cur.client.Delivered++
}

// undelivered counts an offer whose receipt did not come before now.
func (r *Recorder) undelivered(intended, now int64) {
	r.deliverMu.Lock()
	defer r.deliverMu.Unlock()
	s := r.deliver
	if intended >= s.measureFrom {
		s.cur.measured.undelivered++
		s.record(&s.cur.delivery, now-intended)
	}
}

// awaitDeliveries returns when no offer awaits its receipt any more, or at the deadline.
func (r *Recorder) awaitDeliveries(ctx context.Context, deadline int64) {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for monotonic.Now() < deadline && r.anyAwaiting() {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

func (r *Recorder) anyAwaiting() bool {
	for i := range r.awaiting {
		if r.awaiting[i].Load() != 0 {
			return true
		}
	}
	return false
}

// finish closes the shards, waits for the collector and returns the totals.
func (r *Recorder) finish() (record.Totals, error) {
	if r.shards == nil {
		return record.Totals{}, nil // the driver failed before it sent anything
	}
	now := monotonic.Now()
	for i := range r.awaiting {
		if intended := r.awaiting[i].Swap(0); intended != 0 {
			r.undelivered(intended, now)
		}
	}
	for _, s := range r.shards {
		s.rotate(lastInstant, true)
	}
	<-r.collected
	return r.collector.totals(), r.collector.err
}
