package ledger

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/parts/progress"
	"dyno/services/ledger/history"
	"dyno/services/ledger/pace"
)

// measure lets the debug address, and the agent, see how far the pipeline is.
func (p *pipeline) measure() {
	latency := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "ripple_sync_latency_ms", Help: "time from a ledger's request to its proof, in ms",
		Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000},
	})
	p.env.Metrics.MustRegister(latency)
	p.watch.Each = func(_ uint32, took time.Duration, bytes int) {
		latency.Observe(float64(took) / float64(time.Millisecond))
		if p.windows != nil {
			p.windows.Done(took, bytes, false)
		}
	}
	for _, g := range []struct {
		name, help string
		read       func() float64
	}{
		{"ripple_ledger_sync_rate", "ledgers/s that were proved in the last 10 s", p.bound.rate},
		{"ripple_sync_bound_server", "share of the time that is waited for servers", func() float64 { return p.bound.recent(p).server }},
		{"ripple_sync_bound_bytes", "share of the time that is waited for what servers allow in bytes", func() float64 { return p.bound.recent(p).bytes }},
		{"ripple_sync_bound_cpu", "share of the processors, or of the verifiers, that is used, or waited for while others use it", func() float64 { return p.bound.recent(p).cpu }},
		{"ripple_sync_bound_pace", "share of the time that requests wait because their rate is still being raised", func() float64 { return p.bound.recent(p).pace }},
		{"ripple_sync_bound_disk", "share of the time that is waited for the store", func() float64 { return p.bound.recent(p).disk }},
		{"ripple_sync_shard_ledgers", "ledgers of the next shard", func() float64 { return float64(p.watch.Shards().Size) }},
		{"ripple_sync_shard_p95_seconds", "P95 of the time that recent shards took", func() float64 { return p.watch.Shards().P95.Seconds() }},
	} {
		p.env.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.read))
	}
	for _, c := range []struct {
		name, help string
		read       func() uint64
	}{
		{"ripple_sync_ledgers_total", "ledgers that were proved", p.watch.Ledgers.Load},
		{"ripple_sync_bytes_total", "bytes of their answers", p.watch.Bytes.Load},
		{"ripple_sync_marked_total", "ledgers that have their hashes and do not verify at L4", p.watch.Marked.Load},
		{"ripple_sync_signatures_total", "signatures that were checked", p.watch.Signatures.Load},
		{"ripple_sync_refetched_total", "ledgers that were asked for again: the answer was wrong, or did not come", p.watch.Refetched.Load},
		{"ripple_sync_wrong_total", "answers that were proved wrong", p.watch.Wrong.Load},
		{"ripple_sync_shards_total", "shards that were handed out to be fetched", func() uint64 { return p.watch.Shards().Shards }},
		{"ripple_sync_shard_retries_total", "of them, those of what had failed or was wrong", func() uint64 { return p.watch.Shards().Retries }},
		{"ripple_sync_shard_splits_total", "shards that failed and were halved", func() uint64 { return p.watch.Shards().Splits }},
		{"ripple_sync_hedges_total", "shards that took long, and of which another server was asked for the rest", func() uint64 { return p.watch.Shards().Hedges }},
		{"ripple_sync_spare_total", "ledgers that came twice because of that", func() uint64 { return p.watch.Shards().Spare }},
	} {
		p.env.Metrics.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.name, Help: c.help}, func() float64 { return float64(c.read()) }))
	}
	p.env.Metrics.MustRegister(&standings{p})
}

// show tells people how far a sync of a range is, or the lab.
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
			"slowed":       func() float64 { return p.total(func(s pace.ServerStats) float64 { return float64(s.Slowed) }) },
			"asked":        func() float64 { return p.total(func(s pace.ServerStats) float64 { return float64(s.Requests) }) },
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
func (p *pipeline) total(of func(pace.ServerStats) float64) (sum float64) {
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
