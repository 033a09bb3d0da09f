package orders

import (
	"context"
	"strconv"
	"time"

	"dyno/parts/daemon"
	"dyno/services/orders/order"
	"dyno/services/orders/web"

	"github.com/prometheus/client_golang/prometheus"
)

// latencies are histograms by route and class of status.
type latencies struct{ of *prometheus.HistogramVec }

func newLatencies() *latencies {
	return &latencies{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "orders_request_seconds", Help: "time to answer a request, by route and class of status",
		// From a read that finds everything at hand to one that waits for its time-out.
		Buckets: prometheus.ExponentialBuckets(100e-6, 2, 16),
	}, []string{"route", "status"})}
}

// measure counts requests and times them, and refuses those beyond max_inflight.
func (g *Gateway) measure(path string) middleware {
	var observers [6]prometheus.Observer
	for h := range observers {
		observers[h] = g.latency.of.WithLabelValues(path, strconv.Itoa(h)+"xx")
	}
	return func(next web.Handler) web.Handler {
		return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			began := time.Now()
			if g.counters.begin() > int64(g.config.MaxInFlight) {
				g.refuse(req, resp, order.ErrBusy)
			} else {
				next.Serve(ctx, req, resp)
			}
			g.counters.end(resp.Status)
			observers[classOf(resp.Status)].Observe(time.Since(began).Seconds())
		})
	}
}

// gauge is a figure that the lab reads in step with its load, and Prometheus when it asks.
type gauge struct {
	name, help string
	counter    bool // it only grows
	read       func() float64
}

func (g *Gateway) gauges() []gauge {
	return []gauge{
		{"orders_inflight", "requests that are being answered", false, func() float64 { return float64(g.counters.inFlight()) }},
		{"orders_tokens_verified_total", "tokens whose signature was verified", true, func() float64 { return float64(g.verifier.Stats().Verified) }},
		{"orders_tokens_hits_total", "tokens whose signature was known", true, func() float64 { return float64(g.verifier.Stats().Hits) }},
		{"orders_tokens_rejected_total", "tokens that were not accepted", true, func() float64 { return float64(g.verifier.Stats().Rejected) }},
		{"orders_batched_total", "order queries that shared a statement's round trip", true, func() float64 { return float64(g.store.Stats().Batch.Calls) }},
		{"orders_batches_total", "statements that they shared", true, func() float64 { return float64(g.store.Stats().Batch.Fetches) }},
	}
}

// expose gives the lab and Prometheus the gauges.
func (g *Gateway) expose(env *daemon.Env) error {
	for _, one := range g.gauges() {
		env.Agent.Gauge(one.name, one.read)
		if err := env.Metrics.Register(collector(one)); err != nil {
			return err
		}
	}
	return env.Metrics.Register(g.latency.of)
}

func collector(g gauge) prometheus.Collector {
	if g.counter {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: g.name, Help: g.help}, g.read)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.read)
}
