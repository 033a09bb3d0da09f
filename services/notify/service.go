// Package notify is the notification dispatcher: it accepts notices ({id, key, type, payload}), makes them
// durable before it says so, and delivers each to the webhooks that subscribed to its type, signed by Standard
// Webhooks, at least once and in order per key; and to clients that follow by server-sent events or WebSocket.
// It goes on accepting when receivers are slow, up to bounds that are all settings.
//
// Two logs (parts/wal) are all its state: the notices, each under its number, and a journal of what became of
// them (services/notify/journal). What is accepted is routed in the order of the numbers. A lane is what one
// subscription is still to get of one key; a gate per subscription lets so many of its lanes to the workers
// as its receiver is trusted with; the queue between them holds lanes, never bare notices, so that whatever
// the queue does, one webhook at most is in flight per key. What does not fit into memory stays in the log
// and is read by the pager when there is room. What is built how is a Config of names: see Assembly.
//
// It is not a broker: subscribers do not pull, and there is one dispatcher on a log. Another can take over
// where it was if the log is JetStream's.
//
// A Dispatcher owns its workers and its three other goroutines; Close ends them and waits.
package notify

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/services/notify/apikey"
	"dyno/services/notify/backup"
	"dyno/services/notify/page"
)

// Service describes notifyd.
func Service() daemon.Service {
	var f flags
	return daemon.Service{
		Name:  "notifyd",
		Short: "Accept notices, keep them, and deliver them as signed webhooks, in order per key",
		Long: `Notifyd accepts notices, writes them to disk before it says so, and delivers each to the webhooks that
subscribed to its type, signed by Standard Webhooks, at least once and in order per key; and to clients that follow
by server-sent events or WebSocket. A failing key waits alone, and a failing receiver holds up nobody else.

The debug address has a page that shows it all: /debug/notify/.

With --otlp a notice is a trace: the request (POST /v1/notices), its wait for a worker (queue), each attempt
to deliver it (deliver) and the wait after one that failed (retry). Webhooks carry a traceparent then.`,
		Example: `  notifyd serve --listen 127.0.0.1:8080 --debug 127.0.0.1:8081 --data notifyd-data
  curl -d '{"url":"https://example.com/hook","types":["order.*"]}' http://127.0.0.1:8080/v1/subscriptions
  curl -H 'Content-Type: application/json' -d '{"key":"order-7","type":"order.paid","payload":{"total":12}}' http://127.0.0.1:8080/v1/notices
  notifyd serve --set log=jetstream --set jetstream_url=nats://127.0.0.1:4222 --set jetstream_replicas=3`,
		Assembly: Assembly(),
		Data:     &daemon.DataFolder{Format: 2, Upgrade: func(string, int) error { return nil }}, // 2: the journal says when a checkpoint is complete
		Flags:    f.declare,
		Start:    f.start,
	}
}

// flags are notifyd's own.
type flags struct {
	allowPrivate bool
	apiKeys      string
	acceptDamage bool
}

func (f *flags) declare(set *pflag.FlagSet) {
	set.BoolVar(&f.allowPrivate, "allow-private-targets", false, "webhooks may go to private, loopback and link-local addresses")
	set.BoolVar(&f.acceptDamage, "accept-damage", false, "start although logs are damaged or missing, without what they said: subscriptions and notices may be lost")
	set.StringVar(&f.apiKeys, "api-keys", "", "let nobody in without a key of `FILE` (see the command apikey); without it everybody who reaches the address may do everything")
}

// prefixDebug is where the page is on the debug address, and below it the API.
const prefixDebug = "/debug/notify"

func (f *flags) start(ctx context.Context, env *daemon.Env) (daemon.Running, error) {
	config := FromChoice(env.Choice)
	config.AcceptDamage = f.acceptDamage
	config.Data, config.AllowPrivate, config.Logger, config.Fail, config.Draining = env.Data, f.allowPrivate, env.Log, env.Fail, env.Draining
	if env.Tracer != nil {
		config.Tracer = env.Tracer
	}
	var keys *apikey.Keys
	if f.apiKeys != "" {
		var err error
		if keys, err = apikey.Open(f.apiKeys, env.Log); err != nil {
			return daemon.Running{}, daemon.Usage(err)
		}
	}
	began := time.Now()
	d, err := New(config)
	if err != nil {
		return daemon.Running{}, err
	}
	if err := d.expose(env); err != nil {
		d.Close(ctx)
		return daemon.Running{}, err
	}
	first, next := d.notices.Bounds()
	env.Log.Info("ready", "log", config.Log, "durable", !d.volatile(), "notices", next-first, "subscriptions", len(d.subs), "pending", d.pending.Load(),
		"seconds", time.Since(began).Seconds())
	if d.volatile() {
		env.Log.Warn("in memory only: notices that are pending when the process ends are lost")
	}
	out := daemon.Running{Handler: d.Handler()}
	var allows func(string) bool
	if keys != nil {
		out.Handler, allows = keys.Require(out.Handler), keys.Allows
	}
	front, err := d.openFront(env, allows)
	if err != nil {
		d.Close(ctx)
		return daemon.Running{}, err
	}
	if front != nil {
		out.Front = front
	}
	watch, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	if front != nil && keys != nil {
		watching.Go(func() { keys.Watch(watch) })
	}
	out.Drain = func(ctx context.Context) error {
		defer watching.Wait()
		stop()
		left, err := d.Close(ctx)
		env.Log.Info("stopped", "pending", left)
		return err
	}
	return out, nil
}

// expose gives the lab and Prometheus the gauges, and the debug address the page with the API behind it.
func (d *Dispatcher) expose(env *daemon.Env) error {
	for _, g := range d.gauges() {
		env.Agent.Gauge(g.name, g.read)
		if err := env.Metrics.Register(collector(g)); err != nil {
			return err
		}
	}
	for _, c := range []prometheus.Collector{totals{d}, d.tasks.histogram} {
		if err := env.Metrics.Register(c); err != nil {
			return err
		}
	}
	env.Debug.Handle(prefixDebug+"/v1/", http.StripPrefix(prefixDebug, d.Handler()))
	env.Debug.HandleFunc("POST "+prefixDebug+"/workers", d.postWorkers)
	env.Debug.Handle("GET "+prefixDebug+"/backup", d.backup())
	env.Debug.Handle("GET "+prefixDebug+"/{$}", page.Handler())
	return nil
}

// backup streams the data folder as a tar that a new process can start from.
func (d *Dispatcher) backup() http.Handler {
	if d.config.Log != "segment" {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			answerError(w, refuse(http.StatusNotImplemented, "log=%s is not backed up while it is used: of jetstream use `nats stream backup` or replicas; "+
				"memory has nothing to keep", d.config.Log))
		})
	}
	return backup.Handler(func() (*backup.Snapshot, error) {
		d.saving.Lock()
		defer d.saving.Unlock()
		return backup.Open(d.config.Data, journalLog, noticesLog, engineFile, "FORMAT") // parts/daemon wants the last
	}, d.log)
}
