package load

import (
	"math"
	"strconv"
	"strings"
	"time"

	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// warmTag marks responses to requests made before the measured time.
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

// splitTag returns the status and the class in the tag of a response histogram.
func splitTag(tag string) (status, class string) {
	_, rest, _ := strings.Cut(tag, ".")
	status, class, _ = strings.Cut(rest, ".")
	return status, class
}

// sum adds a finished window to the run's sums.
func (c *collector) sum(w *record.Window, m *merged) {
	c.sums.add(&m.measured)
	c.lost += w.Client.Lost
	if w.Phase != record.PhaseWarmup {
		c.sent += w.Client.Sent
	}
	if w.Phase != record.PhaseMeasure {
		return
	}
	if c.windows == 0 {
		c.measureFrom = w.Start
	}
	c.windows++
	c.cpuSeconds += w.Client.CPU * record.WindowLength.Seconds()
	c.completed += w.Client.Ended
	c.broken += m.measured.broken()
	c.delivered += w.Client.Delivered
	c.frames += w.Client.Frames
	c.bytes += w.Client.Bytes
	c.perSecond.add(w.Client.Ended)
}

// keep adds a window's histogram to the run's.
func (c *collector) keep(tag string, h *hdrhistogram.Histogram) {
	if record.MatchTag(tag, warmTag) {
		c.rec.release(h)
		return
	}
	if sum := c.hists[tag]; sum != nil {
		sum.Merge(h)
		c.rec.release(h)
		return
	}
	c.hists[tag] = h
}

// measured returns the time that the measured windows cover: the plan's length, or less if the
// run ended early.
func (c *collector) measured() time.Duration { return time.Duration(c.windows) * record.WindowLength }

func (c *collector) totals() record.Totals {
	s := &c.sums
	seconds := max(c.measured(), record.WindowLength).Seconds()
	t := record.Totals{
		Offered: s.offered, Sent: s.sent, Ended: s.completed, Completed: s.completed - s.broken(), Failed: s.failed, Unfinished: s.unfinished,
		Delivered: s.delivered, Undelivered: s.undelivered, Duplicates: s.duplicates,
		Errors: map[string]int64{}, Status: map[string]int64{},
		OfferedPerS:    float64(s.offered) / seconds,
		ThroughputPerS: float64(c.completed-c.broken) / seconds,
		DeliveredPerS:  float64(c.delivered) / seconds,
		Variation:      c.perSecond.coefficient(),
		Service:        record.QuantilesOf(c.hists[record.HistService]),
		Delivery:       record.QuantilesOf(c.hists[record.HistDelivery]),
		Sessions:       record.SessionsOf(c.hists[record.HistOpening], c.hists[record.HistGap], c.lost, c.frames, c.bytes, seconds),
	}
	if q := record.QuantilesOf(c.hists[record.HistFlow]); q.Max > 0 {
		t.Flow = &q
	}
	if c.phase != "" && c.hists[record.HistLag] == nil { // the job records no send lag
		t.Sent = c.sent
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
	c.generator(&t)
	return t
}

// responses fills in the figures that come from the response histograms: quantiles over all, by
// class and by status, and the number of answers by status.
func (c *collector) responses(t *record.Totals) {
	all := record.NewHistogram()
	classes, statuses := map[string]*hdrhistogram.Histogram{}, map[string]*hdrhistogram.Histogram{}
	merge := func(into map[string]*hdrhistogram.Histogram, key string, h *hdrhistogram.Histogram) {
		if into[key] == nil {
			into[key] = record.NewHistogram()
		}
		into[key].Merge(h)
	}
	for tag, h := range c.hists {
		if !record.MatchTag(tag, record.HistResponse) {
			continue
		}
		all.Merge(h)
		status, class := splitTag(tag)
		if code, err := strconv.Atoi(status); err == nil && code >= 100 {
			t.Status[status] += h.TotalCount()
			merge(statuses, status, h)
		}
		if class != "" {
			merge(classes, class, h)
		}
	}
	t.Response = record.QuantilesOf(all)
	t.Classes = quantiles(classes)
	if len(statuses) > 1 {
		t.Statuses = quantiles(statuses)
	}
}

// quantiles returns the quantiles of each histogram; for an empty map it returns nil.
func quantiles(of map[string]*hdrhistogram.Histogram) map[string]record.Quantiles {
	if len(of) == 0 {
		return nil
	}
	out := map[string]record.Quantiles{}
	for key, h := range of {
		out[key] = record.QuantilesOf(h)
	}
	return out
}

func (c *collector) generator(t *record.Totals) {
	g := &t.Generator
	g.Realtime = c.rec.Realtime.Load()
	g.CPUSeconds = c.cpuSeconds
	if c.completed > 0 {
		g.CPUPerMillion = g.CPUSeconds / float64(c.completed) * 1e6
	}
	g.Agents = c.agents
	for _, a := range c.agents {
		g.BusiestThread, g.Realtime = max(g.BusiestThread, a.BusiestThread), g.Realtime || a.Realtime
	}
	for _, th := range c.threadCPU {
		if length := th.lastAt - th.firstAt; length > 0 {
			g.BusiestThread = max(g.BusiestThread, float64(th.last-th.first)/float64(length))
		}
	}
}

// rateVariation computes the coefficient of variation of the completions per second.
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
