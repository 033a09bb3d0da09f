// Package notify is the notification dispatcher: it accepts notices ({id, key, type, payload}),
// makes them durable before it answers, and delivers each to the webhooks that subscribed to its
// type, signed by Standard Webhooks, at least once and in order per key; and to clients that follow
// by server-sent events or WebSocket. It goes on accepting when receivers are slow, up to bounds
// that are all settings.
//
// This package assembles the service of its parts, which know only those below them:
//
//	api       requests in, answers out
//	dispatch  who is owed what, and getting it there: subscriptions, lanes (the notices of one key
//	          that one subscription has not got), limiters, workers, and the two logs that are all
//	          its state: the notices, and a journal of what became of them
//	webhook   makes, signs and posts one webhook
//	notice    the event itself, and its record
//
// The run queue between limiters and workers holds lanes, never bare notices, so that at most one
// webhook is in flight for each key. Assembly declares the seams; a Config names the implementation
// of each.
//
// It is not a broker: subscribers do not pull, and there is one dispatcher on a log. Another can
// take over where it was if the log is JetStream's.
//
// A Dispatcher owns the goroutines of its parts and two of its own, for the backlog and for
// maintenance; Close ends them and waits.
package notify

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"dyno/parts/daemon"
	"dyno/parts/datadir"
	"dyno/parts/httploop"
	"dyno/parts/refusal"
	"dyno/parts/wal/segment/backup"
	"dyno/services/notify/api"
	"dyno/services/notify/apikey"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/page"
)

// slowestAnswer is how long an answer may take before its client reads it: a log of several
// machines that is away is awaited for up to a minute. Streams set times of their own.
const slowestAnswer = 2 * time.Minute

// Service describes notifyd.
func Service() daemon.Service {
	var f flags
	return daemon.Service{
		Name:  "notifyd",
		Short: "Accept notices, keep them, and deliver them as signed webhooks, in order per key",
		Long: `Notifyd accepts notices, writes them to disk before it answers, and delivers each to the webhooks that
subscribed to its type, signed by Standard Webhooks, at least once and in order per key; and to clients that follow
by server-sent events or WebSocket. A failing key waits alone, and a failing receiver holds up no other.

The debug address has a page that shows it all: /debug/notify/.

With --otlp a notice is a trace: the request (POST /v1/notices), its wait for a worker (queue), each attempt
to deliver it (deliver) and the wait after one that failed (retry). Webhooks carry a traceparent then.`,
		Example: `  notifyd serve --listen 127.0.0.1:8080 --debug 127.0.0.1:8081 --data notifyd-data
  curl -d '{"url":"https://example.com/hook","types":["order.*"]}' http://127.0.0.1:8080/v1/subscriptions
  curl -H 'Content-Type: application/json' -d '{"key":"order-7","type":"order.paid","payload":{"total":12}}' http://127.0.0.1:8080/v1/notices
  notifyd serve --set log=jetstream --set jetstream_url=nats://127.0.0.1:4222 --set jetstream_replicas=3`,
		Assembly: Assembly(),
		Data:     &datadir.Folder{Format: 2, Upgrade: func(string, int) error { return nil }}, // 2: the journal says when a checkpoint is complete
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
	set.StringVar(&f.apiKeys, "api-keys", "", "serve only requests with a key of `FILE` (see the command apikey); without it every client that reaches the address may do everything")
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
	first, next := d.store.Notices.Bounds()
	env.Log.Info("ready", "log", config.Log, "notices", next-first, "subscriptions", d.table.Len(),
		"pending", d.deliverer.Pending.Load(), "seconds", time.Since(began).Seconds())
	out := daemon.Running{Handler: d.Handler(), WriteTimeout: slowestAnswer + env.ReadTimeout}
	var allows func(string) bool
	if keys != nil {
		out.Handler, allows = keys.Require(out.Handler), keys.Allows
	}
	front, err := d.openFront(env, out.Handler, allows)
	if err != nil {
		d.Close(ctx)
		return daemon.Running{}, err
	}
	if front != nil {
		out.Front = front
		d.api.Behind(front)
		elsewhere := func() uint64 { return front.Stats().Elsewhere }
		if err := errors.Join(env.ExposeHandedOver(prefix, handedOver, front.HandedOver), env.ExposeElsewhere(prefix, elsewhere)); err != nil {
			err = errors.Join(err, front.Drain(ctx))
			d.Close(ctx)
			return daemon.Running{}, err
		}
	}
	watch, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	if keys != nil {
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

// openFront opens the event loops if the assembly has them.
func (d *Dispatcher) openFront(env *daemon.Env, h http.Handler, allows func(string) bool) (*api.Front, error) {
	if d.config.Ingest != "loop" {
		return nil, nil
	}
	f, err := api.NewFront(d.acceptor, api.FrontOptions{
		Context: d.ctx, Listener: env.Connections, TLS: env.TLS, Guard: env.Guard, Allows: allows, ReadTimeout: env.ReadTimeout,
		Memory: d.config.Memory, Tracer: d.config.Tracer, Handler: h, Fail: d.config.Fail, Log: d.config.Logger,
	})
	if errors.Is(err, httploop.ErrUnsupported) {
		d.config.Logger.Info("net/http reads all requests, as there are no event loops (ingest=loop) on this system")
		return nil, nil
	}
	return f, err
}

// expose gives the lab and Prometheus the gauges, and the debug address the page with the API
// behind it.
func (d *Dispatcher) expose(env *daemon.Env) error {
	gauges := d.gauges()
	env.Sample("", gauges...)
	if err := env.Expose(prefix, d.collect, append(gauges, totals...)...); err != nil {
		return err
	}
	if err := env.Metrics.Register(d.deliverer.Durations()); err != nil {
		return err
	}
	env.Debug.Handle(prefixDebug+"/v1/", http.StripPrefix(prefixDebug, d.Handler()))
	env.Debug.Handle("POST "+prefixDebug+"/workers", d.api.Workers())
	env.Debug.Handle("GET "+prefixDebug+"/backup", d.backup())
	env.Debug.Handle("GET "+prefixDebug+"/{$}", page.Handler())
	env.Recent(prefixDebug+"/recent", page.Figures)
	env.Requests("notifyd_async_task_duration_seconds") // attempts to deliver
	return nil
}

// backup streams the data folder as a tar that a new process can start from.
func (d *Dispatcher) backup() http.Handler {
	if d.config.Log != "segment" {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			api.AnswerError(w, refusal.New(http.StatusNotImplemented, "log=%s is not backed up while it is used: use `nats stream backup` or replicas", d.config.Log))
		})
	}
	return backup.Handler("notifyd", func() (snapshot *backup.Snapshot, err error) {
		d.maintainer.WithoutTrimming(func() {
			snapshot, err = backup.Open(d.config.Data, dispatch.JournalName, dispatch.NoticesName, dispatch.EngineFile, "FORMAT") // parts/datadir wants the last
		})
		return snapshot, err
	}, d.config.Logger)
}
