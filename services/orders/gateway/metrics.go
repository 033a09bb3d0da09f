package gateway

import (
	"context"
	"strconv"
	"time"

	"dyno/agent"
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

// meter counts and times the requests of a route.
type meter struct {
	g         *Gateway
	observers [6]prometheus.Observer
}

func (g *Gateway) meter(path string) *meter {
	m := &meter{g: g}
	for h := range m.observers {
		m.observers[h] = g.latency.of.WithLabelValues(path, strconv.Itoa(h)+"xx")
	}
	return m
}

// begin reports whether the request is within max_inflight. It is counted in any case, until end.
func (m *meter) begin() bool { return m.g.counters.begin() <= int64(m.g.config.MaxInFlight) }

func (m *meter) end(began time.Time, status int) {
	m.g.counters.end(status)
	m.observers[classOf(status)].Observe(time.Since(began).Seconds())
}

// measure counts requests and times them, and refuses those beyond max_inflight.
func (g *Gateway) measure(path string) middleware {
	m := g.meter(path)
	return func(next web.Handler) web.Handler {
		return web.HandlerFunc(func(ctx context.Context, req *web.Request, resp *web.Response) {
			began := time.Now()
			if m.begin() {
				next.Serve(ctx, req, resp)
			} else {
				g.refuse(req, resp, order.ErrBusy)
			}
			m.end(began, resp.Status)
		})
	}
}

func (g *Gateway) metrics() []daemon.Metric {
	return []daemon.Metric{
		{Name: "inflight", Help: "requests that are being answered", Read: func() float64 { return float64(g.counters.inFlight()) }},
		{Name: "answers_good_total", Help: "requests answered with a status below 400", Read: func() float64 { return float64(g.counters.answered(2) + g.counters.answered(3)) }},
		{Name: "answers_refused_total", Help: "requests answered with 4xx", Read: func() float64 { return float64(g.counters.answered(4)) }},
		{Name: "answers_failed_total", Help: "requests answered with 5xx", Read: func() float64 { return float64(g.counters.answered(5)) }},
		{Name: "breakers_open", Help: "breakers of the database that are not closed", Read: func() float64 {
			return float64(g.breaker.open(classRead) + g.breaker.open(classList) + g.breaker.open(classWrite))
		}},
		{Name: "batch_refused_total", Help: "order queries refused because too many waited for a batch", Read: func() float64 { return float64(g.store.Stats().Batch.Refused) }},
		{Name: "batch_retries_total", Help: "order queries asked again alone after their batch failed", Read: func() float64 { return float64(g.store.Stats().Batch.Retries) }},
		{Name: "tokens_verified_total", Help: "tokens whose signature was verified", Read: func() float64 { return float64(g.verifier.Stats().Verified) }},
		{Name: "tokens_hits_total", Help: "tokens whose signature was known", Read: func() float64 { return float64(g.verifier.Stats().Hits) }},
		{Name: "tokens_rejected_total", Help: "tokens that were not accepted", Read: func() float64 { return float64(g.verifier.Stats().Rejected) }},
		{Name: "keys_unread_seconds", Help: "time that the file of keys could not be read, so that those read before stay in force; 0: it was read", Read: func() float64 { return g.verifier.Stats().Unread.Seconds() }},
		{Name: "connection_reuse", Help: "share of the connections handed out in the last 10 s that were there before; below 0.85 the log warns", Read: g.store.Reuse},
		{Name: "statement_cache_hits", Help: "share of the statements of the last 10 s that their connection knew; below 0.92 the log warns", Read: g.store.Cached},
		{Name: "batched_total", Help: "order queries that shared a statement's round trip", Read: func() float64 { return float64(g.store.Stats().Batch.Calls) }},
		{Name: "batches_total", Help: "statements that they shared", Read: func() float64 { return float64(g.store.Stats().Batch.Fetches) }},
	}
}

// Prefix of all that Prometheus scrapes and the agent samples.
const Prefix = "orders_"

// ExposeAll gives metrics to the lab and to Prometheus.
func ExposeAll(env *daemon.Env, metrics []daemon.Metric) error {
	env.Sample(Prefix, metrics...)
	return env.Expose(Prefix, nil, metrics...)
}

// Expose gives the lab and Prometheus the gateway's metrics.
func (g *Gateway) Expose(env *daemon.Env) error {
	if err := ExposeAll(env, g.metrics()); err != nil {
		return err
	}
	for class := range g.store.Stats().Pools {
		env.Agent.Pool("pool_"+class, func() agent.PoolStats {
			p := g.store.Stats().Pools[class]
			return agent.PoolStats{Open: p.Open, InUse: p.InUse, Max: p.Max, Waits: p.Waits, Waited: p.Waited, Acquires: p.Acquires, Opened: p.Opened}
		})
	}
	env.Agent.Statements("database", func() agent.StatementStats {
		s := g.store.Stats()
		return agent.StatementStats{Statements: s.Statements, Prepares: s.Prepares, Deadlines: s.Deadlines, Undated: s.Undated}
	})
	if err := env.Expose(Prefix, g.collect, storeMetrics...); err != nil {
		return err
	}
	return env.Metrics.Register(g.latency.of)
}

// storeMetrics are of the store, for which the agent has kinds of its own.
var storeMetrics = []daemon.Metric{
	{Name: "statements_total", Help: "statements sent to the database"},
	{Name: "statements_prepared_total", Help: "of these, not known to their connection before"},
	{Name: "statements_undated_total", Help: "of these, sent without a deadline"},
	{Name: "pool_in_use", Help: "connections that are in use", Labels: []string{"pool"}},
	{Name: "pool_open", Help: "connections that are open", Labels: []string{"pool"}},
	{Name: "pool_wait_seconds_total", Help: "time that requests waited for a connection", Labels: []string{"pool"}},
	{Name: "pool_opened_total", Help: "connections that were made", Labels: []string{"pool"}},
	{Name: "pool_acquires_total", Help: "times that a connection was handed out", Labels: []string{"pool"}},
}

func (g *Gateway) collect(set daemon.Set) {
	s := g.store.Stats()
	set("statements_total", float64(s.Statements))
	set("statements_prepared_total", float64(s.Prepares))
	set("statements_undated_total", float64(s.Undated))
	for class, p := range s.Pools {
		set("pool_in_use", float64(p.InUse), class)
		set("pool_open", float64(p.Open), class)
		set("pool_wait_seconds_total", p.Waited.Seconds(), class)
		set("pool_opened_total", float64(p.Opened), class)
		set("pool_acquires_total", float64(p.Acquires), class)
	}
}
