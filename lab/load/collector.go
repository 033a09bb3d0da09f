package load

import (
	"fmt"
	"math"
	"time"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// lastInstant is the instant that a shard has reached when it has ended. It is small enough that
// adding a window to it does not overflow.
const lastInstant = (math.MaxInt64/window - 1) * window

// collector merges the windows of all shards, in order, and keeps the run's sums.
type collector struct {
	rec       *Recorder
	reached   []int64 // by shard: the shard reports nothing more before this instant
	open      map[int64]*merged
	usage     []usage // the generator's CPU use, for windows that are not written yet, in order
	nextStart int64
	phase     string // the phase that a job reported last; empty: the plan decides
	backlog   int64
	sinkErr   error

	sums        counts
	measureFrom int64 // the first measured window
	windows     int   // measured windows so far
	cpuSeconds  float64
	perSecond   rateVariation
	sent        int64 // requests sent since the measured time began, including those that were due before
	completed   int64 // requests that ended in measured windows, including those that were due before
	broken      int64 // the part of completed that ended without an answer
	delivered   int64
	frames      int64
	bytes       int64
	lost        int64                              // lost sessions, in any window
	hists       map[string]*hdrhistogram.Histogram // by tag, measured requests only
	threadCPU   []span                             // by shard
	agents      []record.Agent                     // by shard, if they relay the windows of other processes
}

// usage is the number of cores that the generator used up to an instant.
type usage struct {
	until int64
	cores float64
}

// span holds the first and last reading of a thread's CPU time during the measured time.
type span struct {
	first, last     time.Duration
	firstAt, lastAt int64
}

func (s *span) add(v time.Duration, at int64) {
	if s.firstAt == 0 {
		s.first, s.firstAt = v, at
	}
	s.last, s.lastAt = v, at
}

// merged is one window, merged over all shards.
type merged struct {
	phase    string
	client   record.Client
	gauges   map[string]float64
	finished int64
	measured counts
	hists    map[string]*hdrhistogram.Histogram
}

func (c *collector) init(r *Recorder) {
	c.rec = r
	c.open = map[int64]*merged{}
	c.hists = map[string]*hdrhistogram.Histogram{}
}

func (c *collector) begin(shards int, first int64) {
	c.nextStart = first
	c.reached = make([]int64, shards)
	c.threadCPU = make([]span, shards)
	for i := range c.reached {
		c.reached[i] = first
	}
}

// collect runs until every shard has sent its last interval.
func (r *Recorder) collect() {
	defer close(r.collected)
	for left := len(r.collector.reached); left > 0; {
		iv := <-r.intervals
		if iv.last {
			left--
		}
		r.collector.take(iv)
		r.collector.emit()
	}
}

func (c *collector) take(iv *interval) {
	c.reached[iv.shard] = iv.next
	if iv.shard == 0 && !iv.relayed {
		c.usage = append(c.usage, usage{iv.next, iv.client.CPU})
	}
	if iv.threadCPU > 0 && c.planned(iv.start) == record.PhaseMeasure {
		c.threadCPU[iv.shard].add(iv.threadCPU, iv.start)
	}
	if !iv.quiet() {
		c.merge(iv)
	}
}

func (c *collector) merge(iv *interval) {
	start := max(iv.start, c.nextStart) // later for a delivery whose stamp lies in a window that was already written
	m := c.open[start]
	if m == nil {
		m = &merged{hists: map[string]*hdrhistogram.Histogram{}}
		c.open[start] = m
	}
	if iv.phase != "" {
		m.phase, m.gauges = iv.phase, iv.gauges
	}
	m.client.Offered += iv.client.Offered
	m.client.Sent += iv.client.Sent
	m.client.Ended += iv.client.Ended
	m.client.Failed += iv.client.Failed
	m.client.Refused += iv.client.Refused
	m.client.Delivered += iv.client.Delivered
	m.client.Frames += iv.client.Frames
	m.client.Bytes += iv.client.Bytes
	m.client.Lost += iv.client.Lost
	if iv.relayed {
		m.client.CPU += iv.client.CPU
	}
	m.finished += iv.finished
	m.measured.add(&iv.measured)
	c.put(m, record.HistService, iv.service)
	c.put(m, record.HistLag, iv.lag)
	c.put(m, record.HistDelivery, iv.delivery)
	for _, r := range iv.response {
		c.put(m, c.tag(r), r.hist)
	}
	for tag, h := range iv.more {
		c.put(m, tag, h)
	}
}

// put merges a shard's histogram into the window and takes ownership of it.
func (c *collector) put(m *merged, tag string, h *hdrhistogram.Histogram) {
	switch have := m.hists[tag]; {
	case h == nil:
	case have == nil:
		m.hists[tag] = h
	default:
		have.Merge(h)
		c.rec.release(h)
	}
}

// emit writes every window that all shards have completed.
func (c *collector) emit() {
	reached := int64(lastInstant)
	for _, t := range c.reached {
		reached = min(reached, t)
	}
	for c.nextStart+window <= reached && (len(c.open) > 0 || reached < lastInstant) {
		c.emitOne()
	}
}

// planned returns the phase of a window by the plan.
func (c *collector) planned(start int64) string {
	switch {
	case start < c.rec.plan.MeasureFrom():
		return record.PhaseWarmup
	case start < c.rec.plan.SendUntil():
		return record.PhaseMeasure
	}
	return record.PhaseDrain
}

// emitOne writes the next window, empty or not.
func (c *collector) emitOne() {
	start := c.nextStart
	c.nextStart += window
	m := c.open[start]
	delete(c.open, start)
	if m == nil {
		m = &merged{}
	}
	w := record.Window{Start: start, Phase: c.planned(start), Client: m.client}
	if m.phase != "" {
		c.phase = m.phase
	}
	if c.phase != "" {
		w.Phase = c.phase
	}
	if m.gauges != nil {
		w.Server = &record.Server{Gauges: m.gauges}
	}
	c.backlog += m.client.Offered - m.finished
	w.Client.Backlog = c.backlog
	w.Client.CPU += c.cores(start)
	c.describe(&w.Client, m)
	c.sum(&w, m)
	if c.sinkErr == nil {
		if c.sinkErr = c.rec.sink.Window(w, m.hists); c.sinkErr != nil {
			c.rec.fail(fmt.Errorf("recording the window at %d ns: %w", start, c.sinkErr))
		}
	}
	for tag, h := range m.hists {
		c.keep(tag, h)
	}
}

// cores returns the generator's CPU use in the window that begins at start, from the reading that
// covers the window. Several windows may be written in a burst, so the latest reading would be
// wrong for most.
func (c *collector) cores(start int64) float64 {
	for len(c.usage) > 0 && c.usage[0].until <= start {
		c.usage = c.usage[1:]
	}
	if len(c.usage) == 0 {
		return 0
	}
	return c.usage[0].cores
}

// describe fills in the window's quantiles. They are taken over the responses of all statuses
// together.
func (c *collector) describe(out *record.Client, m *merged) {
	q := c.union(m, record.HistResponse)
	if q == (record.Quantiles{}) {
		q = c.union(m, warmTag)
	}
	out.P50Ms, out.P99Ms, out.MaxMs = q.P50, q.P99, q.Max
	d := record.QuantilesOf(m.hists[record.HistDelivery])
	out.DeliveryP50Ms, out.DeliveryP99Ms = d.P50, d.P99
	out.LagP99Us = record.QuantilesOf(m.hists[record.HistLag]).P99 * 1000
}

func (c *collector) union(m *merged, kind string) record.Quantiles {
	var only, sum *hdrhistogram.Histogram
	for tag, h := range m.hists {
		switch {
		case !record.MatchTag(tag, kind):
		case only == nil:
			only = h
		default:
			if sum == nil {
				sum = c.rec.histogram()
				sum.Merge(only)
			}
			sum.Merge(h)
		}
	}
	if sum == nil {
		return record.QuantilesOf(only)
	}
	q := record.QuantilesOf(sum)
	c.rec.release(sum)
	return q
}
