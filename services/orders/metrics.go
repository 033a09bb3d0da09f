package orders

import (
	"context"
	"strconv"
	"time"

	"dyno/agent"
	"dyno/parts/daemon"
	"dyno/parts/httploop"
	"dyno/services/orders/order"
	"dyno/services/orders/release"
	"dyno/services/orders/store"
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

// gauge is a figure that the lab reads in step with its load, and Prometheus when it asks.
type gauge struct {
	name, help string
	counter    bool // it only grows
	read       func() float64
}

func (g *Gateway) gauges() []gauge {
	return []gauge{
		{"orders_inflight", "requests that are being answered", false, func() float64 { return float64(g.counters.inFlight()) }},
		{"orders_answers_good_total", "requests answered with a status below 400", true, func() float64 { return float64(g.counters.answered(2) + g.counters.answered(3)) }},
		{"orders_answers_refused_total", "requests answered with 4xx", true, func() float64 { return float64(g.counters.answered(4)) }},
		{"orders_answers_failed_total", "requests answered with 5xx", true, func() float64 { return float64(g.counters.answered(5)) }},
		{"orders_breakers_open", "breakers of the database that are not closed", false, func() float64 {
			return float64(g.breaker.open(classRead) + g.breaker.open(classList) + g.breaker.open(classWrite))
		}},
		{"orders_batch_refused_total", "order queries refused because too many waited for a batch", true, func() float64 { return float64(g.store.Stats().Batch.Refused) }},
		{"orders_batch_retries_total", "order queries asked again alone after their batch failed", true, func() float64 { return float64(g.store.Stats().Batch.Retries) }},
		{"orders_tokens_verified_total", "tokens whose signature was verified", true, func() float64 { return float64(g.verifier.Stats().Verified) }},
		{"orders_tokens_hits_total", "tokens whose signature was known", true, func() float64 { return float64(g.verifier.Stats().Hits) }},
		{"orders_tokens_rejected_total", "tokens that were not accepted", true, func() float64 { return float64(g.verifier.Stats().Rejected) }},
		{"orders_connection_reuse", "share of the connections handed out in the last 10 s that were there before; below 0.85 the log warns", false, g.thrift.reuse.get},
		{"orders_statement_cache_hits", "share of the statements of the last 10 s that their connection knew; below 0.92 the log warns", false, g.thrift.cached.get},
		{"orders_batched_total", "order queries that shared a statement's round trip", true, func() float64 { return float64(g.store.Stats().Batch.Calls) }},
		{"orders_batches_total", "statements that they shared", true, func() float64 { return float64(g.store.Stats().Batch.Fetches) }},
	}
}

// admissionGauges are of the limits, where there are any.
func (g *Gateway) admissionGauges() (out []gauge) {
	for class, l := range g.limiters {
		if l != nil {
			name := "orders_admission_" + classNames[class]
			out = append(out,
				gauge{name + "_limit", "units that may be in use", false, func() float64 { return float64(l.Stats().Limit) }},
				gauge{name + "_waiting", "requests that wait for their admission", false, func() float64 { return float64(l.Stats().Waiting) }},
				gauge{name + "_refused_total", "requests that were not admitted", true, func() float64 { return float64(l.Stats().Refused) }})
		}
	}
	return out
}

// loopGauges are of event loops.
func loopGauges(l *web.Loop) []gauge {
	read := func(name, help string, counter bool, read func(httploop.Stats) float64) gauge {
		return gauge{"orders_loop_" + name, help, counter, func() float64 { return read(l.Stats()) }}
	}
	return []gauge{
		read("connections", "clients that are connected", false, func(s httploop.Stats) float64 { return float64(s.Connections) }),
		read("requests_total", "requests that event loops have read", true, func(s httploop.Stats) float64 { return float64(s.Requests) }),
		read("turns_total", "turns in which they have read some", true, func(s httploop.Stats) float64 { return float64(s.Turns) }),
		read("refused_total", "clients that were refused or cut off before there was a request", true, func(s httploop.Stats) float64 { return float64(s.Refused) }),
	}
}

// releaseGauges are of a second version.
func releaseGauges(r *release.Release) []gauge {
	compared := func(name, help string, read func(release.Compared) uint64) gauge {
		return gauge{"orders_release_" + name + "_total", help, true, func() float64 { return float64(read(r.Status().Compared)) }}
	}
	return []gauge{
		compared("same", "copies of reads that the second version answered alike", func(c release.Compared) uint64 { return c.Same }),
		compared("different", "copies of reads that it answered otherwise", func(c release.Compared) uint64 { return c.Different }),
		compared("failed", "copies of reads that it did not answer", func(c release.Compared) uint64 { return c.Failed }),
		compared("dropped", "copies of reads that were not sent, as too many waited", func(c release.Compared) uint64 { return c.Dropped }),
	}
}

// exposeAll gives gauges to the lab and to Prometheus.
func exposeAll(env *daemon.Env, gauges []gauge) error {
	for _, one := range gauges {
		env.Agent.Gauge(one.name, one.read)
		if err := env.Metrics.Register(collector(one)); err != nil {
			return err
		}
	}
	return nil
}

// expose gives the lab and Prometheus the gauges.
func (g *Gateway) expose(env *daemon.Env) error {
	if err := exposeAll(env, append(g.gauges(), g.admissionGauges()...)); err != nil {
		return err
	}
	for class := range g.store.Stats().Pools {
		if err := g.exposePool(env, class); err != nil {
			return err
		}
	}
	env.Agent.Statements("database", func() agent.StatementStats {
		s := g.store.Stats()
		return agent.StatementStats{Statements: s.Statements, Prepares: s.Prepares, Deadlines: s.Deadlines, Undated: s.Undated}
	})
	for _, one := range []gauge{
		{"orders_statements_total", "statements sent to the database", true, func() float64 { return float64(g.store.Stats().Statements) }},
		{"orders_statements_prepared_total", "of these, not known to their connection before", true, func() float64 { return float64(g.store.Stats().Prepares) }},
		{"orders_statements_undated_total", "of these, sent without a deadline", true, func() float64 { return float64(g.store.Stats().Undated) }},
	} {
		if err := env.Metrics.Register(collector(one)); err != nil {
			return err
		}
	}
	return env.Metrics.Register(g.latency.of)
}

// exposePool shows the connections of a class.
func (g *Gateway) exposePool(env *daemon.Env, class string) error {
	read := func() store.Pool { return g.store.Stats().Pools[class] }
	env.Agent.Pool("pool_"+class, func() agent.PoolStats {
		p := read()
		return agent.PoolStats{Open: p.Open, InUse: p.InUse, Max: p.Max, Waits: p.Waits, Waited: p.Waited, Acquires: p.Acquires, Opened: p.Opened}
	})
	labels := prometheus.Labels{"pool": class}
	for _, c := range []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "orders_pool_in_use", Help: "connections that are in use", ConstLabels: labels}, func() float64 { return float64(read().InUse) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "orders_pool_open", Help: "connections that are open", ConstLabels: labels}, func() float64 { return float64(read().Open) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "orders_pool_wait_seconds_total", Help: "time that requests waited for a connection", ConstLabels: labels}, func() float64 { return read().Waited.Seconds() }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "orders_pool_opened_total", Help: "connections that were made", ConstLabels: labels}, func() float64 { return float64(read().Opened) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "orders_pool_acquires_total", Help: "times that a connection was handed out", ConstLabels: labels}, func() float64 { return float64(read().Acquires) }),
	} {
		if err := env.Metrics.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func collector(g gauge) prometheus.Collector {
	if g.counter {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: g.name, Help: g.help}, g.read)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.read)
}
