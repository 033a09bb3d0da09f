package daemon

import (
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric is a figure that Prometheus scrapes: a counter if its name ends in _total, else a gauge.
type Metric struct {
	Name, Help string
	Read       func() float64 // nil: the collecting function sets it, if it is there
	Labels     []string       // names; of metrics without Read
}

// Set gives a metric without Read its value, for one set of labels.
type Set func(name string, value float64, labels ...string)

// Expose registers metrics for Prometheus, their names behind a prefix. Collect, which may be nil,
// is called at each scrape, to set several from one reading.
func (e *Env) Expose(prefix string, collect func(Set), metrics ...Metric) error {
	c := exposition{metrics: metrics, collect: collect, described: map[string]described{}}
	for _, m := range metrics {
		kind := prometheus.GaugeValue
		if strings.HasSuffix(m.Name, "_total") {
			kind = prometheus.CounterValue
		}
		c.described[m.Name] = described{prometheus.NewDesc(prefix+m.Name, m.Help, m.Labels, nil), kind}
	}
	return e.Metrics.Register(c)
}

// Sample gives metrics with Read to the agent, which reads them in step with the lab's load, under
// these names.
func (e *Env) Sample(prefix string, metrics ...Metric) {
	for _, m := range metrics {
		e.Agent.Gauge(prefix+m.Name, m.Read)
	}
}

// ExposeHandedOver registers the metric handed_over_total, of what event loops did not serve, by
// reason (httploop.Reasons).
func (e *Env) ExposeHandedOver(prefix, help string, counts func() map[string]uint64) error {
	const name = "handed_over_total"
	return e.Expose(prefix, func(set Set) {
		all := counts()
		all["path"] += 0 // so that the metric is there before anything was handed over
		for reason, n := range all {
			set(name, float64(n), reason)
		}
	}, Metric{Name: name, Help: help, Labels: []string{"reason"}})
}

// ExposeElsewhere registers the metric handed_over_requests_total, of the requests on connections
// that event loops have handed over.
func (e *Env) ExposeElsewhere(prefix string, count func() uint64) error {
	return e.Expose(prefix, nil, Metric{Name: "handed_over_requests_total", Help: "requests that net/http received on connections that event loops had handed over",
		Read: func() float64 { return float64(count()) }})
}

type exposition struct {
	metrics   []Metric
	collect   func(Set)
	described map[string]described // by name
}

type described struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func (c exposition) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.described {
		out <- d.desc
	}
}

func (c exposition) Collect(out chan<- prometheus.Metric) {
	set := func(name string, value float64, labels ...string) {
		d := c.described[name]
		out <- prometheus.MustNewConstMetric(d.desc, d.kind, value, labels...)
	}
	for _, m := range c.metrics {
		if m.Read != nil {
			c.guarded(out, m.Name, func() { set(m.Name, m.Read()) })
		}
	}
	if c.collect != nil {
		c.guarded(out, "metrics", func() { c.collect(set) })
	}
}

// guarded makes an error of a panic, which would end the process: what a metric reads may be
// closed already.
func (c exposition) guarded(out chan<- prometheus.Metric, what string, read func()) {
	defer func() {
		if cause := recover(); cause != nil {
			err := fmt.Errorf("reading %s: panic: %v", what, cause)
			out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		}
	}()
	read()
}
