package ledger

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/parts/daemon"
	"dyno/parts/progress"
	"dyno/services/ledger/servers"
	"dyno/services/ledger/xrpl/history"
)

// prefix of all that Prometheus scrapes.
const prefix = "ripple_"

// measure shows Prometheus how far the pipeline is.
func (p *pipeline) measure() error {
	latency := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: prefix + "sync_latency_ms", Help: "time from a ledger's request to its proof, in ms",
		Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000},
	})
	if err := p.env.Metrics.Register(latency); err != nil {
		return err
	}
	p.watch.Each = func(_ uint32, took time.Duration, bytes int) {
		latency.Observe(float64(took) / float64(time.Millisecond))
		if p.windows != nil {
			p.windows.Done(took, bytes, false)
		}
	}
	if err := p.env.Expose(prefix+"server_", p.exposeServers, serverMetrics...); err != nil {
		return err
	}
	p.env.Board("/debug/ledger/", board)
	return p.env.Expose(prefix, nil,
		daemon.Metric{Name: "ledger_sync_rate", Help: "ledgers/s that were proved in the last 10 s", Read: p.bound.rate},
		daemon.Metric{Name: "sync_bound_server", Help: "share of the time that is waited for servers", Read: func() float64 { return p.bound.recent(p).server }},
		daemon.Metric{Name: "sync_bound_bytes", Help: "share of the time that is waited for what servers allow in bytes", Read: func() float64 { return p.bound.recent(p).bytes }},
		daemon.Metric{Name: "sync_bound_cpu", Help: "share of the processors, or of the verifiers, that is used, or waited for while others use it", Read: func() float64 { return p.bound.recent(p).cpu }},
		daemon.Metric{Name: "sync_bound_pace", Help: "share of the time that requests wait because their rate is still being raised", Read: func() float64 { return p.bound.recent(p).pace }},
		daemon.Metric{Name: "sync_bound_disk", Help: "share of the time that is waited for the store", Read: func() float64 { return p.bound.recent(p).disk }},
		daemon.Metric{Name: "sync_shard_ledgers", Help: "most ledgers of a shard", Read: func() float64 { return float64(p.watch.Shards().Size) }},
		daemon.Metric{Name: "sync_shard_p95_seconds", Help: "P95 of the time that recent shards took", Read: func() float64 { return p.watch.Shards().P95.Seconds() }},
		daemon.Metric{Name: "sync_ledgers_total", Help: "ledgers that were proved", Read: func() float64 { return float64(p.watch.Ledgers.Load()) }},
		daemon.Metric{Name: "sync_bytes_total", Help: "bytes of their answers", Read: func() float64 { return float64(p.watch.Bytes.Load()) }},
		daemon.Metric{Name: "sync_marked_total", Help: "ledgers that have their hashes and do not verify at L4", Read: func() float64 { return float64(p.watch.Marked.Load()) }},
		daemon.Metric{Name: "sync_signatures_total", Help: "signatures that were checked", Read: func() float64 { return float64(p.watch.Signatures.Load()) }},
		daemon.Metric{Name: "sync_refetched_total", Help: "ledgers that were asked for again: the answer was wrong, or did not come", Read: func() float64 { return float64(p.watch.Refetched.Load()) }},
		daemon.Metric{Name: "sync_wrong_total", Help: "answers that were proved wrong", Read: func() float64 { return float64(p.watch.Wrong.Load()) }},
		daemon.Metric{Name: "sync_shards_total", Help: "shards that were handed out to be fetched", Read: func() float64 { return float64(p.watch.Shards().Shards) }},
		daemon.Metric{Name: "sync_shard_retries_total", Help: "of them, those of what had failed or was wrong", Read: func() float64 { return float64(p.watch.Shards().Retries) }},
		daemon.Metric{Name: "sync_shard_splits_total", Help: "shards that failed and were halved", Read: func() float64 { return float64(p.watch.Shards().Splits) }},
		daemon.Metric{Name: "sync_spare_total", Help: "ledgers that came when another answer had, or when they had been given up", Read: func() float64 { return float64(p.watch.Shards().Spare) }})
}

// show reports how far a sync of a range is, to a terminal or to the lab.
func (p *pipeline) show(span history.Range, windows bool) {
	if windows {
		p.windows = progress.New(p.env.Stdout)
		for name, read := range map[string]func() float64{
			"bound_server": func() float64 { return p.bound.recent(p).server },
			"bound_bytes":  func() float64 { return p.bound.recent(p).bytes },
			"bound_cpu":    func() float64 { return p.bound.recent(p).cpu },
			"bound_pace":   func() float64 { return p.bound.recent(p).pace },
			"bound_disk":   func() float64 { return p.bound.recent(p).disk },
			"refetched":    func() float64 { return float64(p.watch.Refetched.Load()) },
			"wrong":        func() float64 { return float64(p.watch.Wrong.Load()) },
			"slowed":       func() float64 { return p.total(func(s servers.ServerStats) float64 { return float64(s.Slowed) }) },
			"asked":        func() float64 { return p.total(func(s servers.ServerStats) float64 { return float64(s.Requests) }) },
		} {
			p.windows.Gauge(name, read)
		}
		return
	}
	before := span.Len() - p.store.Stored().Missing(span).Len()
	p.bar = progress.Show(p.env.Stderr, "ledgers", func() progress.State {
		return progress.State{Done: int64(before) + int64(p.watch.Ledgers.Load()), Total: int64(span.Len()), Note: p.note()}
	})
}

// total sums something over the servers.
func (p *pipeline) total(of func(servers.ServerStats) float64) (sum float64) {
	for _, s := range p.pool.Report() {
		sum += of(s)
	}
	return sum
}

// note is what people should know beside the progress.
func (p *pipeline) note() string {
	if waits := p.waits.Load(); waits != nil {
		return *waits
	}
	return "bound by: " + p.bound.recent(p).limitingResource()
}
