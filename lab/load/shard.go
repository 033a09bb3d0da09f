package load

import (
	"time"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Shard receives one thread's reports to the recorder. It is not safe for concurrent use.
type Shard struct {
	rec         *Recorder
	index       int
	cur         *interval
	seq, stride uint64
	units       int64 // units of work in each request
	measureFrom int64
	cpu         time.Duration // CPU time of the process when the window last rotated; only the first shard reads it
	cpuAt       int64         // instant of that reading; 0: none yet
	relayed     bool          // it receives whole windows of another process
	backlog     int64         // backlog at the end of the last relayed window
	lastDone    int64         // the latest answer or delivery
	reported    counts        // sums of the windows that the other process sent
	missing     counts        // what the other process's own sums have in addition to reported
	agent       *record.Agent // the process whose windows the shard receives; nil: not known
}

// interval holds the events of one shard in one window.
type interval struct {
	shard       int
	start, next int64  // next: the shard reports nothing more before this instant
	phase       string // set by a driver whose job has phases of its own; empty: the plan decides
	client      record.Client
	gauges      map[string]float64
	finished    int64 // requests that ended, in whatever way
	measured    counts
	service     *hdrhistogram.Histogram
	lag         *hdrhistogram.Histogram
	delivery    *hdrhistogram.Histogram
	response    []responses
	more        map[string]*hdrhistogram.Histogram // by tag
	threadCPU   time.Duration                      // CPU time of the reporting thread so far; 0: not known
	last        bool
	relayed     bool // it comes from another process, whose CPU use is in client
}

// counts holds sums over the requests that were due during the measured time.
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

// responses holds the response times of one status and class.
type responses struct {
	status Status
	class  uint8
	warm   bool // due before the measured time
	hist   *hdrhistogram.Histogram
}

// quiet reports whether nothing happened in the interval.
func (iv *interval) quiet() bool {
	client := iv.client
	client.CPU = 0
	return client == record.Client{} && iv.finished == 0 && iv.measured == counts{} && iv.phase == "" && iv.more == nil
}

func (s *Shard) open(start int64) *interval { return &interval{shard: s.index, start: start} }

// Advance moves the shard to the window that contains now. Arrive, Sent and Done call it
// themselves. A thread with nothing to report calls it at least every 100 ms, so that windows do
// not wait for the thread.
func (s *Shard) Advance(now int64) {
	if now < s.cur.start+window {
		return
	}
	s.rotate(now, s.rec.plan.windowOf(now), false)
	if s.index == 0 {
		s.rec.advanceDeliveries(now - window) // deliveries may be late by a window
	}
}

func (s *Shard) rotate(now, next int64, last bool) {
	s.cur.next, s.cur.last, s.cur.relayed = next, last, s.relayed
	if s.index == 0 && !s.relayed {
		s.readCPU(now)
	}
	s.rec.intervals <- s.cur
	s.cur = s.open(next)
}

// readCPU computes how many cores the process used since the window last rotated.
func (s *Shard) readCPU(now int64) {
	used := s.rec.cpu()
	if s.cpuAt != 0 && now > s.cpuAt {
		s.cur.client.CPU = float64(used-s.cpu) / float64(now-s.cpuAt)
	}
	s.cpu, s.cpuAt = used, now
}

// ThreadCPU reports the CPU time that the calling thread has used so far.
func (s *Shard) ThreadCPU(used time.Duration) { s.cur.threadCPU = used }

// Arrive reports that a request is due and returns its sequence number, which is unique in the
// run. A shard's requests are reported in the order of their intended times.
func (s *Shard) Arrive(intended int64) (seq uint64) {
	s.Advance(intended)
	s.cur.client.Offered += s.units
	if intended >= s.measureFrom {
		s.cur.measured.offered += s.units
	}
	seq = s.seq
	s.seq += s.stride
	if a := s.rec.unacked; a != nil {
		if old, overwritten := a.Put(seq, intended); overwritten {
			s.rec.undelivered(old, intended)
		}
	}
	return seq
}

// Sent reports that a request was sent at an instant, lag ns after it could have been sent.
func (s *Shard) Sent(intended, at, lag int64) {
	s.Advance(at)
	s.cur.client.Sent += s.units
	if intended < s.measureFrom {
		return
	}
	s.cur.measured.sent += s.units
	s.record(&s.cur.lag, lag)
}

// Completion describes how a request ended.
type Completion struct {
	Seq      uint64
	Intended int64 // ns, monotonic
	Sent     int64 // ns, monotonic; 0: it was never sent
	Done     int64 // ns, monotonic
	Status   Status
	Class    uint8
	Success  bool // the answer passed every check
	Checked  bool // the content failed a check; the status did not
	Failed   int  // units that failed; 0: all of them, if not Success
}

// Done reports how a request ended.
func (s *Shard) Done(o *Completion) {
	s.count(o)
	warm := o.Intended < s.measureFrom
	s.recordResponse(o.Status, o.Class, warm, o.Done-o.Intended)
	if !warm && o.Sent != 0 {
		s.record(&s.cur.service, o.Done-o.Sent)
	}
}

// count counts a request that ended.
func (s *Shard) count(o *Completion) {
	s.Advance(o.Done)
	s.lastDone = max(s.lastDone, o.Done)
	s.cur.finished += s.units
	s.cur.client.Ended += s.units
	failed := s.failed(o)
	if o.Intended < s.measureFrom {
		return
	}
	s.cur.measured.completed += s.units
	if failed > 0 {
		s.cur.measured.fail(o.Status, o.Checked, failed)
	}
}

// failed counts the units of a request that failed, and returns their number.
func (s *Shard) failed(o *Completion) (n int64) {
	if o.Success {
		return 0
	}
	if n = int64(o.Failed); n == 0 {
		n = s.units
	}
	s.cur.client.Failed += n
	if o.Status.rejected() {
		s.cur.client.Refused += n
	}
	if a := s.rec.unacked; a != nil && n == s.units { // a request that was not accepted will not be delivered
		a.Take(o.Seq)
	}
	return n
}

// broken returns the number of requests that ended without an answer.
func (c *counts) broken() (n int64) {
	for _, kind := range c.errors {
		n += kind
	}
	return n
}

func (c *counts) fail(status Status, checked bool, n int64) {
	c.failed += n
	switch {
	case checked:
		c.failedCheck += n
	case status.protocol():
		c.failedStatus += n
	default:
		c.errors[status] += n
	}
}

// Unfinished reports a request that was still queued or in flight at now, when the run ended.
func (s *Shard) Unfinished(intended, now int64, class uint8) {
	s.Advance(now)
	s.cur.finished += s.units
	if intended >= s.measureFrom {
		s.cur.measured.unfinished += s.units
		s.recordResponse(Unfinished, class, false, now-intended)
	}
}

func (s *Shard) record(h **hdrhistogram.Histogram, ns int64) {
	if *h == nil {
		*h = s.rec.histogram()
	}
	(*h).RecordValues(record.Clamp(ns), s.units) // within range, so it cannot fail
}

func (s *Shard) recordResponse(status Status, class uint8, warm bool, ns int64) {
	for i := range s.cur.response {
		if r := &s.cur.response[i]; r.status == status && r.class == class && r.warm == warm {
			r.hist.RecordValues(record.Clamp(ns), s.units)
			return
		}
	}
	r := responses{status: status, class: class, warm: warm}
	s.record(&r.hist, ns)
	s.cur.response = append(s.cur.response, r)
}
