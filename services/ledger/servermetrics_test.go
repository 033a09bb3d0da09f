package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/services/ledger/sim"
	"dyno/services/ledger/sim/fault"
)

// reported is what a registry says, by name and labels.
func reported(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() // at most one of the two is set
		}
	}
	return all
}

// The metrics show each server's state, also for two servers with the same name.
func TestServerMetrics(t *testing.T) {
	s := serveChain(t, sim.Config{})
	p := opened(t, nil, s.URL(), s.URL(), s.WS())
	if err := p.pool.Refresh(t.Context()); err != nil { // discover would not wait for a late one
		t.Fatal(err)
	}
	if _, err := p.finder().ByServers(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	got := reported(t, p.env.Metrics)
	for name := range got {
		if !strings.HasPrefix(name, "ripple_") {
			t.Errorf("%s has another prefix than the rest", name)
		}
	}
	for _, name := range []string{s.URL(), s.URL() + " #2", s.WS()} {
		of := func(metric, more string) float64 {
			key := fmt.Sprintf("ripple_server_%s%s server=%s", metric, more, name)
			value, ok := got[key]
			if !ok {
				t.Errorf("%s is missing; there are: %v", key, got)
			}
			return value
		}
		// The request to a server that was slower than the majority may have been cancelled.
		if n := of("requests_total", ""); n < 1 || n > 2 || of("good_total", "") > n || of("bytes_total", "") == 0 {
			t.Errorf("%s: %v requests", name, n)
		}
		if of("request_rate", "") <= 0 || of("byte_rate", "") <= 0 || of("latency_seconds", "") <= 0 || of("score", "") <= 0 {
			t.Errorf("%s: %v", name, got)
		}
		if of("request_edge", "") != 0 || of("byte_edge", "") != 0 || of("cooling_seconds", "") != 0 || of("slowed_total", "") != 0 || of("warned_total", "") != 0 || of("in_flight", "") != 0 {
			t.Errorf("%s: %v", name, got)
		}
		protocol, reused := "HTTP/1.1", of("connections_reused_total", "")
		if name == s.WS() {
			protocol = "WebSocket"
		}
		made := got[fmt.Sprintf("ripple_server_connections_total protocol=%s server=%s tls=none", protocol, name)]
		if made < 1 || made > 2 || protocol == "WebSocket" && reused != 0 {
			t.Errorf("%s: %v connections, %v reused: %v", name, made, reused, got)
		}
	}
}

// Wrong answers and failed requests are counted by kind.
func TestServerMetricsOfFaults(t *testing.T) {
	s := serveChain(t, sim.Config{Faults: fault.Rates{fault.Error: 1}})
	p := opened(t, map[string]string{"patience": "1s"}, s.URL())
	if _, err := p.finder().ByServers(t.Context(), last); err == nil {
		t.Fatal("it has answered")
	}
	m, err := p.pool.Acquire(t.Context(), last)
	if err != nil {
		t.Fatal(err)
	}
	m.Done(0, 0, nil)
	m.RecordFault("a lie")
	got := reported(t, p.env.Metrics)
	if got["ripple_server_blamed_total reason=a lie server="+s.URL()] != 1 {
		t.Errorf("%v", got)
	}
	troubles := 0.0
	for kind, n := range p.pool.Report()[0].Errors {
		if reported := got[fmt.Sprintf("ripple_server_troubles_total kind=%s server=%s", kind, s.URL())]; reported != float64(n) {
			t.Errorf("%v of %d times %s", reported, n, kind)
		}
		troubles += float64(n)
	}
	if troubles == 0 {
		t.Errorf("there were no failures, so the test is void: %v", got)
	}
}

// The metrics show how far behind the tip a follower is.
func TestFollowMetrics(t *testing.T) {
	t.Parallel()
	s := serveChain(t, sim.Config{Spec: small, TipEvery: 100 * time.Millisecond})
	p := opened(t, nil, s.WS())
	p.writing.Progress.From, p.writing.Progress.To = 0, 0 // no requested range
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- p.follow(ctx) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	caughtUp := false
	for !caughtUp {
		select {
		case err := <-ended:
			t.Fatal(err)
		case <-tick.C:
		}
		got := reported(t, p.env.Metrics)
		tip := got["ripple_follow_tip_index"]
		caughtUp = tip > last+1 && got["ripple_follow_lag_ledgers"] == 0 && got["ripple_follow_fetches_total"] > 1 &&
			got["ripple_follow_connected server="+s.WS()] == 1 && got["ripple_follow_server_index server="+s.WS()] >= tip
		if got["ripple_follow_failures_total"]+got["ripple_follow_disconnects_total server="+s.WS()] > 0 {
			t.Fatalf("%v", got)
		}
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The metrics count what the planner did.
func TestShardMetrics(t *testing.T) {
	s := serveChain(t, sim.Config{})
	p := opened(t, nil, s.URL())
	if err := p.fill(t.Context(), p.request.span(), p.trustAnchor); err != nil {
		t.Fatal(err)
	}
	got, is := reported(t, p.env.Metrics), p.watch.Shards()
	for name, want := range map[string]float64{
		"ripple_sync_shards_total": float64(is.Shards), "ripple_sync_shard_retries_total": float64(is.Retries), "ripple_sync_shard_splits_total": float64(is.Splits),
		"ripple_sync_spare_total": 0, "ripple_sync_shard_ledgers": float64(is.Size), "ripple_sync_shard_p95_seconds": is.P95.Seconds(),
	} {
		if reported, ok := got[name]; !ok || reported != want {
			t.Errorf("%s is %v, want %v", name, reported, want)
		}
	}
	if is.Shards == 0 || is.Size == 0 {
		t.Errorf("%+v", is)
	}
}
