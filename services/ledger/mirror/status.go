package mirror

import (
	"context"
	"slices"
	"strings"

	grpcprom "github.com/grpc-ecosystem/go-grpc-middleware/providers/prometheus"
	"github.com/prometheus/client_golang/prometheus"

	"dyno/services/ledger/mirror/mirrorpb"
)

// Status returns what is stored and the subscribers, by name.
func (m *Mirror) Status(context.Context, *mirrorpb.StatusRequest) (*mirrorpb.StatusResponse, error) {
	stored := m.config.Store.Stored()
	out := &mirrorpb.StatusResponse{Ledgers: stored.String()}
	if len(stored) > 0 {
		out.Newest = stored[len(stored)-1].To
	}
	m.mu.Lock()
	for _, f := range m.followers {
		out.Subscribers = append(out.Subscribers, &mirrorpb.Subscriber{Name: f.name, Next: f.next.Load(), Sent: f.sent.Load(), FromStore: f.fromStore.Load()})
	}
	m.mu.Unlock()
	slices.SortFunc(out.Subscribers, func(a, b *mirrorpb.Subscriber) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// metrics are the mirror's own, beside gRPC's standard ones, which get the service's prefix here.
type metrics struct{ live, store prometheus.Counter }

func newMetrics(m *Mirror, calls *grpcprom.ServerMetrics, to prometheus.Registerer) *metrics {
	sent := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ripple_mirror_ledgers_sent_total",
		Help: "Ledgers sent to subscribers, by where they came from: memory (live) or the store (backfill, or a slow subscriber).",
	}, []string{"source"})
	subscribers := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ripple_mirror_subscribers",
		Help: "Current number of subscribers.",
	}, func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return float64(len(m.followers))
	})
	if to != nil {
		to.MustRegister(sent, subscribers)
		prometheus.WrapRegistererWithPrefix("ripple_", to).MustRegister(calls)
	}
	return &metrics{live: sent.WithLabelValues("live"), store: sent.WithLabelValues("store")}
}

func (m *metrics) sent(live bool) {
	if live {
		m.live.Inc()
		return
	}
	m.store.Inc()
}
