package chain

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/parts/daemon"
	"dyno/services/chain/api"
	"dyno/services/chain/api/filter"
	"dyno/services/chain/jsonrpc"
	"dyno/services/chain/node"
)

// prefix of all that Prometheus scrapes.
const prefix = "blockchain_"

// otherMethod is the label of messages and calls that name no method of the server.
const otherMethod = "other"

// handedOver is the help of a metric that exists with an event loop.
const handedOver = "how often the event loop handed a connection over to net/http, by reason: a header field's name, path, method, host, body (too large), HTTP/2 or framing"

// metrics counts the calls of JSON-RPC.
type metrics struct {
	took  *prometheus.HistogramVec // seconds
	calls *prometheus.CounterVec
	good  map[string]counted // by method: calls without an error, which are most
}

type counted struct {
	took  prometheus.Observer
	calls prometheus.Counter
}

// newMetrics registers the metrics of the methods.
func newMetrics(env *daemon.Env, b api.Backend, methods map[string]jsonrpc.Method) (*metrics, error) {
	chain := prometheus.Labels{"chain_id": b.Genesis.Config.ChainID.String()}
	height := func() float64 { return float64(b.States.Head().Number.Uint64()) }
	m := &metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "request_duration_seconds", Help: "time that a call of JSON-RPC took, in seconds", ConstLabels: chain,
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "status_code"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "request_total", Help: "calls of JSON-RPC, with those that name no method", ConstLabels: chain,
		}, []string{"method", "status_code"}),
		good: map[string]counted{},
	}
	for method := range methods {
		m.good[method] = m.of(method, 0)
	}
	env.Board("/debug/chain/", board)
	env.Requests(prefix + "request_duration_seconds")
	env.Sample(prefix, daemon.Metric{Name: "block_height", Read: height})
	for _, c := range []prometheus.Collector{m.took, m.calls,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "block_height", Help: "number of the last block", ConstLabels: chain}, height),
	} {
		if err := env.Metrics.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// of returns the counters of a method and of the code of its error. Methods have few codes.
func (m *metrics) of(method string, code int) counted {
	status := strconv.Itoa(code)
	return counted{m.took.WithLabelValues(method, status), m.calls.WithLabelValues(method, status)}
}

// observe is jsonrpc.Options.Observe.
func (m *metrics) observe(method string, took time.Duration, code int) {
	c, ok := m.good[method]
	if !ok || code != 0 {
		c = m.of(cmp.Or(method, otherMethod), code)
	}
	c.took.Observe(took.Seconds())
	c.calls.Inc()
}

// expose shows what waits, the connections of a server, and what its filters drop.
func (m *metrics) expose(env *daemon.Env, b api.Backend, s *jsonrpc.Server, f *filter.Filters) error {
	waiting := daemon.Metric{Name: "pool_transactions", Help: "accepted transactions that are in no block yet", Read: func() float64 {
		executable, queued := b.Pool.Stats()
		return float64(executable + queued)
	}}
	env.Sample(prefix, waiting)
	return env.Expose(prefix, nil, waiting,
		daemon.Metric{Name: "sockets", Help: "WebSockets that are open", Read: func() float64 { return float64(s.Stats().Sockets) }},
		daemon.Metric{Name: "subscriptions", Help: "subscriptions that are open", Read: func() float64 { return float64(s.Stats().Subscriptions) }},
		daemon.Metric{Name: "slow_sockets_total", Help: "WebSockets that were closed because the client read too slowly", Read: func() float64 { return float64(s.Stats().Slow) }},
		daemon.Metric{Name: "dropped_hashes_total", Help: "hashes of accepted transactions that a client asked for too late", Read: func() float64 { return float64(f.Dropped()) }})
}

// exposeNode shows what waits in a node, in Prometheus, to the lab and at /debug/chain/pool.
func exposeNode(env *daemon.Env, n *node.Node) error {
	gauges := []daemon.Metric{
		{Name: "pool_executable", Help: "transactions that wait for the next blocks", Read: func() float64 { return float64(n.Pool().Executable) }},
		{Name: "pool_queued", Help: "transactions that wait behind a nonce gap", Read: func() float64 { return float64(n.Pool().Queued) }},
		{Name: "pool_bytes", Help: "size of all that wait, in bytes", Read: func() float64 { return float64(n.Pool().Bytes) }},
		{Name: "journal_bytes", Help: "size of the journal's records since its last checkpoint, in bytes", Read: func() float64 { return float64(n.JournalSize()) }},
	}
	env.Sample(prefix, gauges...)
	env.Debug.HandleFunc("GET /debug/chain/pool", func(w http.ResponseWriter, _ *http.Request) {
		stats, why := n.Pool(), ""
		if err := n.Ready(); err != nil {
			why = err.Error()
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{ // an error means that the client has gone
			"executable": stats.Executable, "queued": stats.Queued, "bytes": stats.Bytes, "senders": stats.Offered, "refuses": why,
		})
	})
	return env.Expose(prefix, nil, gauges...)
}
