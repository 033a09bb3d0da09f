// Package notify is the notification dispatcher: it accepts notices ({id, key, type, payload}) and
// delivers each to the webhooks that subscribed to its type, signed by Standard Webhooks, at least once
// and in order per key; it goes on accepting when receivers are slow, up to a bound.
//
// A lane is what one subscription is still to get of one key. The queue between acceptance and the
// workers holds lanes, never bare notices, so that whatever the queue does, one webhook at most is in
// flight per key, and a lane that fails waits alone. What is built how is a Config of names: see
// Assembly.
//
// It is not durable: a notice is kept in memory, and what is pending when the process ends is lost. The
// start-up log and GET /v1/stats say so.
//
// Receivers share the workers and the bound on what is pending. One that hangs with as many keys as there
// are workers holds them all until its attempts time out, and one that falls far enough behind lets
// notices for others be refused too: there are no limits per subscription yet.
//
// A Dispatcher owns its workers and its parked lanes' timers; Close ends them and waits.
package notify

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"dyno/parts/daemon"
)

// Service describes notifyd.
func Service() daemon.Service {
	return daemon.Service{
		Name:  "notifyd",
		Short: "Accept notices and deliver them as signed webhooks, in order per key",
		Long: `Notifyd accepts notices and delivers each to the webhooks that subscribed to its type, signed by
Standard Webhooks, at least once and in order per key. A failing key waits alone; nothing else waits for it.

It keeps notices in memory: what is pending when the process ends is lost.

With --otlp a notice is a trace: the request (POST /v1/notices), its wait for a worker (queue), each attempt
to deliver it (deliver) and the wait after one that failed (retry). Webhooks carry a traceparent then.`,
		Example: `  notifyd --listen 127.0.0.1:8080 --assembly tuned
  curl -d '{"url":"https://example.com/hook"}' http://127.0.0.1:8080/v1/subscriptions
  curl -H 'Content-Type: application/json' -d '{"key":"order-7","type":"order.paid","payload":{"total":12}}' http://127.0.0.1:8080/v1/notices
  notifyd --otlp http://127.0.0.1:4318 --otlp-sample 0.01 --otlp-sample 'POST /v1/subscriptions=1'`,
		Assembly: Assembly(),
		Start:    start,
	}
}

func start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	config := FromChoice(env.Choice)
	if env.Tracer != nil {
		config.Tracer = env.Tracer
	}
	d, err := New(config)
	if err != nil {
		return daemon.Running{}, err
	}
	for _, g := range d.gauges() {
		env.Agent.Gauge(g.name, g.read)
		if err := env.Metrics.Register(collector(g)); err != nil {
			d.Close(ctx)
			return daemon.Running{}, err
		}
	}
	env.Log.Warn("in memory only: notices that are pending when the process ends are lost", "durable", false)
	return daemon.Running{
		Handler: d.Handler(),
		Drain: func(ctx context.Context) error {
			left := d.Close(ctx)
			if left > 0 {
				env.Log.Warn("stopped with notices undelivered; they are lost", "left", left)
				return nil
			}
			env.Log.Info("stopped; everything accepted was delivered or given up")
			return nil
		},
	}, nil
}

// collector gives a gauge to Prometheus, which wants to know what only grows.
func collector(g gauge) prometheus.Collector {
	if strings.HasSuffix(g.name, "_total") {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: g.name, Help: g.help}, g.read)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, g.read)
}
