package load

import (
	"math"
	"strconv"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// lastInstant is what a shard reaches when it has ended.
const lastInstant = math.MaxInt64 / window * window

// collector puts the windows of all shards together, in order, and keeps the sums.
type collector struct {
	rec       *Recorder
	reached   []int64 // by shard: all it has to say before this instant has been said
	open      map[int64]*merged
	nextStart int64
	backlog   int64
	err       error // the sink's first

	sums      counts
	perSecond rateVariation
	completed int64 // in measured windows, whenever offered
	delivered int64
	hists     map[string]*hdrhistogram.Histogram // by tag, measured offers only
	status    map[string]int64
	threadCPU []span // by shard
	cpu       span
}

// span is the first and last reading of a growing figure within the measured time.
type span struct {
	first, last     time.Duration
	firstAt, lastAt int64
	seen            bool
}

func (s *span) add(v time.Duration, at int64) {
	if !s.seen {
		s.first, s.firstAt, s.seen = v, at, true
	}
	s.last, s.lastAt = v, at
}

// merged is one window over all shards.
type merged struct {
	client   record.Client
	finished int64
	measured counts
	hists    map[string]*hdrhistogram.Histogram
}

func (c *collector) init(r *Recorder, shards int, first int64) {
	c.rec, c.nextStart = r, first
	c.reached = make([]int64, shards)
	c.threadCPU = make([]span, shards)
	for i := range c.reached {
		c.reached[i] = first
	}
	c.open = map[int64]*merged{}
	c.hists = map[string]*hdrhistogram.Histogram{}
	c.status = map[string]int64{}
}

// collect runs until every shard has sent its last interval.
func (r *Recorder) collect() {
	defer close(r.collected)
	c := &r.collector
	tick := time.NewTicker(record.WindowLength / 2)
	defer tick.Stop()
	for left := len(r.shards); left > 0; {
		select {
		case iv := <-r.intervals:
			c.take(iv)
			if iv.last {
				left--
			}
		case <-tick.C:
			if r.deliver != nil { // nobody else moves it on while no receipt comes
				r.deliverMu.Lock()
				r.deliver.Advance(monotonic.Now() - window) // receipts may be late by a window
				r.deliverMu.Unlock()
			}
		}
		c.emit()
	}
}

func (c *collector) take(iv *interval) {
	c.reached[iv.shard] = iv.next
	start := max(iv.start, c.nextStart) // a receipt stamped before a window that was already written
	m := c.open[start]
	if m == nil {
		m = &merged{hists: map[string]*hdrhistogram.Histogram{}}
		c.open[start] = m
	}
	m.client.Offered += iv.client.Offered
	m.client.Sent += iv.client.Sent
	m.client.Completed += iv.client.Completed
	m.client.Failed += iv.client.Failed
	m.client.Refused += iv.client.Refused
	m.client.Delivered += iv.client.Delivered
	m.finished += iv.finished
	m.measured.add(&iv.measured)
	c.put(m, record.HistService, iv.service)
	c.put(m, record.HistLag, iv.lag)
	c.put(m, record.HistDelivery, iv.delivery)
	for _, r := range iv.response {
		c.put(m, c.tag(r), r.hist)
	}
	if iv.threadCPU > 0 && c.measuring(iv.start) {
		c.threadCPU[iv.shard].add(iv.threadCPU, iv.start)
	}
}

// warmTag marks responses to offers made before the measured time.
const warmTag = "warmup"

func (c *collector) tag(r responses) string {
	kind := record.HistResponse
	if r.warm {
		kind = warmTag
	}
	tag := kind + "." + r.status.String()
	if int(r.class) < len(c.rec.plan.Classes) {
		tag += "." + c.rec.plan.Classes[r.class]
	}
	return tag
}

// put adds a shard's histogram to the window and takes it over.
func (c *collector) put(m *merged, tag string, h *hdrhistogram.Histogram) {
	switch have := m.hists[tag]; {
	case h == nil:
	case have == nil:
		m.hists[tag] = h
	default:
		have.Merge(h)
		c.release(h)
	}
}

func (c *collector) release(h *hdrhistogram.Histogram) {
	h.Reset()
	h.SetTag("")
	c.rec.pool.Put(h)
}

// emit writes every window that all shards have left behind.
func (c *collector) emit() {
	reached := int64(math.MaxInt64)
	for _, t := range c.reached {
		reached = min(reached, t)
	}
	for c.nextStart+window <= reached && (len(c.open) > 0 || reached < lastInstant) {
		c.emitOne()
	}
}

func (c *collector) measuring(start int64) bool {
	return start >= c.rec.plan.MeasureFrom() && start < c.rec.plan.OfferUntil()
}

func (c *collector) phase(start int64) string {
	switch {
	case start < c.rec.plan.MeasureFrom():
		return record.PhaseWarmup
	case start < c.rec.plan.OfferUntil():
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
	c.backlog += m.client.Offered - m.finished
	w := record.Window{Start: start, Phase: c.phase(start), Client: m.client}
	w.Client.Backlog = c.backlog
	c.describe(&w.Client, m)
	cpu := processCPU()
	if c.cpu.seen && start > 0 {
		w.Client.CPU = max(0, (cpu-c.cpu.last).Seconds()/float64(max(monotonic.Now()-c.cpu.lastAt, 1))*1e9)
	}
	if c.measuring(start) {
		c.cpu.add(cpu, monotonic.Now())
		c.completed += m.client.Completed
		c.delivered += m.client.Delivered
		c.perSecond.add(m.client.Completed)
	}
	c.sums.add(&m.measured)
	if c.err == nil {
		c.err = c.rec.sink.Window(w, m.hists)
	}
	for tag, h := range m.hists {
		c.keep(tag, h)
	}
}

// describe reads the window's quantiles. A window with several statuses is described by all of them.
func (c *collector) describe(out *record.Client, m *merged) {
	q := c.union(m, record.HistResponse)
	if q.Max == 0 {
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
				sum = c.rec.pool.Get().(*hdrhistogram.Histogram)
				sum.Merge(only)
			}
			sum.Merge(h)
		}
	}
	if sum == nil {
		return record.QuantilesOf(only)
	}
	q := record.QuantilesOf(sum)
	c.release(sum)
	return q
}

// keep adds a window's histogram to the run's.
func (c *collector) keep(tag string, h *hdrhistogram.Histogram) {
	if record.MatchTag(tag, warmTag) {
		c.release(h)
		return
	}
	if sum := c.hists[tag]; sum != nil {
		sum.Merge(h)
		c.release(h)
		return
	}
	c.hists[tag] = h
}

func (c *collector) totals() record.Totals {
	s := &c.sums
	seconds := c.rec.plan.Length.Seconds()
	t := record.Totals{
		Offered: s.offered, Sent: s.sent, Completed: s.completed, Failed: s.failed, Unfinished: s.unfinished,
		Delivered: s.delivered, Undelivered: s.undelivered, Duplicates: s.duplicates,
		Errors: map[string]int64{}, Status: map[string]int64{},
		OfferedPerS:   float64(s.offered) / seconds,
		AchievedPerS:  float64(c.completed) / seconds,
		DeliveredPerS: float64(c.delivered) / seconds,
		Variation:     c.perSecond.coefficient(),
		Service:       record.QuantilesOf(c.hists[record.HistService]),
		Delivery:      record.QuantilesOf(c.hists[record.HistDelivery]),
	}
	lag := record.QuantilesOf(c.hists[record.HistLag])
	t.Lag = record.Lag{P50: lag.P50 * 1000, P99: lag.P99 * 1000}
	for _, kind := range ErrorKinds() {
		t.Errors[kind] = 0
	}
	for kind, n := range s.errors {
		if n > 0 {
			t.Errors[Status(kind).String()] = n
		}
	}
	t.Errors[failedCheck], t.Errors[failedStatus] = s.failedCheck, s.failedStatus
	c.responses(&t)
	c.generator(&t, seconds)
	return t
}

// responses fills in what is read from the response histograms: quantiles over all, by class, and the
// number of answers by status.
func (c *collector) responses(t *record.Totals) {
	all := record.NewHistogram()
	classes := map[string]*hdrhistogram.Histogram{}
	for tag, h := range c.hists {
		if !record.MatchTag(tag, record.HistResponse) {
			continue
		}
		all.Merge(h)
		status, class := splitTag(tag)
		if code, err := strconv.Atoi(status); err == nil && code >= 100 {
			t.Status[status] += h.TotalCount()
		}
		if class != "" {
			if classes[class] == nil {
				classes[class] = record.NewHistogram()
			}
			classes[class].Merge(h)
		}
	}
	t.Response = record.QuantilesOf(all)
	for class, h := range classes {
		if t.Classes == nil {
			t.Classes = map[string]record.Quantiles{}
		}
		t.Classes[class] = record.QuantilesOf(h)
	}
}

func splitTag(tag string) (status, class string) {
	rest := tag[len(record.HistResponse)+1:]
	for i := range rest {
		if rest[i] == '.' {
			return rest[:i], rest[i+1:]
		}
	}
	return rest, ""
}

func (c *collector) generator(t *record.Totals, seconds float64) {
	g := &t.Generator
	g.Realtime = c.rec.Realtime.Load()
	if span := c.cpu.lastAt - c.cpu.firstAt; span > 0 {
		cores := float64(c.cpu.last-c.cpu.first) / float64(span)
		g.CPUSeconds = cores * seconds
		if c.completed > 0 {
			g.CPUPerMillion = g.CPUSeconds / float64(c.completed) * 1e6
		}
	}
	for _, th := range c.threadCPU {
		if span := th.lastAt - th.firstAt; span > 0 {
			g.BusiestThread = max(g.BusiestThread, float64(th.last-th.first)/float64(span))
		}
	}
}

// rateVariation is the coefficient of variation of the completions per second.
type rateVariation struct {
	windows         int
	second          int64
	n, sum, squares float64
}

func (v *rateVariation) add(completed int64) {
	v.second += completed
	if v.windows++; v.windows%int(time.Second/record.WindowLength) == 0 {
		x := float64(v.second)
		v.n, v.sum, v.squares, v.second = v.n+1, v.sum+x, v.squares+x*x, 0
	}
}

func (v *rateVariation) coefficient() float64 {
	if v.n < 2 || v.sum == 0 {
		return 0
	}
	mean := v.sum / v.n
	return math.Sqrt(max(0, v.squares/v.n-mean*mean)*v.n/(v.n-1)) / mean
}
