package notify

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"dyno/parts/wal"
	"dyno/services/notify/api"
	"dyno/services/notify/dedup"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/push"
	"dyno/services/notify/webhook"
)

// Config of a Dispatcher: the choice for each seam, and the settings. FromChoice reads one from an
// assembly, where the settings' meanings, defaults and bounds are.
type Config struct {
	Ingest   string `seam:"ingest"`
	Client   string `seam:"client"`
	Batching string `seam:"batching"`
	Commit   string `seam:"commit"`

	Log string `set:"log" values:"segment,jetstream" doc:"where notices and the journal are kept; segment: files in the data folder; jetstream: two streams of NATS JetStream, for more than one machine"`

	Workers int `set:"workers" default:"16" min:"1" max:"4096" tune:"true" doc:"webhooks in flight, without those that hang"`

	MaxPending int           `set:"max_pending" default:"10000000" min:"1" max:"1099511627776" doc:"deliveries owed, one for each notice and subscription, of all together; above it POST answers 429"`
	MaxLog     int64         `set:"max_log" default:"16GiB" min:"1KiB" max:"1024TiB" doc:"size of the log of notices; above it POST answers 429"`
	MaxAge     time.Duration `set:"max_age" default:"1m" min:"1ms" max:"24h" doc:"wait of the oldest notice for a worker; above it POST answers 429"`
	Window     int           `set:"window" default:"20000" min:"1" max:"16777216" tune:"true" doc:"notices of one subscription in memory; more stay in the log"`
	Memory     int64         `set:"memory" default:"256MiB" min:"1KiB" max:"1TiB" tune:"true" doc:"size of pending notices in memory, of all subscriptions together; more stay in the log; also the bound of what event loops have read and not stored"`

	KeepAge      time.Duration `set:"keep_age" default:"24h" min:"1s" max:"8760h" doc:"age at which an owed notice becomes a dead letter"`
	KeepBytes    int64         `set:"keep_bytes" default:"1GiB" min:"1KiB" max:"1024TiB" doc:"size of what is owed to one subscription; above it the oldest notices become dead letters"`
	History      time.Duration `set:"history" default:"1h" min:"0s" max:"8760h" doc:"time that delivered notices are kept for streams that resume"`
	HistoryBytes int64         `set:"history_bytes" default:"1GiB" min:"0" max:"1024TiB" doc:"size of delivered notices that are kept"`
	DedupWindow  time.Duration `set:"dedup_window" default:"10m" min:"0s" max:"24h" doc:"time in which an id is accepted once"`
	DedupLimit   int           `set:"dedup_limit" default:"1000000" min:"0" max:"67108864" doc:"ids that are remembered"`
	DeadLetters  int           `set:"dead_letters" default:"10000" min:"1" max:"16777216" doc:"dead letters of one subscription; above it the oldest are purged"`
	DeadBytes    int64         `set:"dead_bytes" default:"64MiB" min:"1MiB" max:"1TiB" doc:"size of one subscription's dead letters; above it the oldest are purged"`

	MaxAttempts   int           `set:"max_attempts" default:"8" min:"1" max:"100" doc:"attempts at one notice before it is a dead letter"`
	Timeout       time.Duration `set:"timeout" default:"10s" min:"10ms" max:"5m" doc:"time limit of one attempt"`
	Backoff       time.Duration `set:"backoff" default:"500ms" min:"1ms" max:"1h" doc:"pause before the second attempt, half of it random; it doubles"`
	MaxBackoff    time.Duration `set:"max_backoff" default:"1m" min:"1ms" max:"24h" doc:"longest pause between attempts"`
	SecretOverlap time.Duration `set:"secret_overlap" default:"24h" min:"0s" max:"720h" doc:"time that a replaced secret still signs"`

	Streams   push.Options
	JetStream dispatch.JetStream
	Data      string // folder of the logs

	AllowPrivate bool
	Tracer       trace.Tracer    // nil means no traces
	Logger       *slog.Logger    // nil means none
	Draining     <-chan struct{} // closed when streams must end; nil means that Close ends them
	Fail         func(error)     // receives the error of a log that has failed for good; nil means none
	AcceptDamage bool            // start without what cannot be read

	testing stubs
}

// stubs are what tests put into a dispatcher. Their zero value changes nothing.
type stubs struct {
	openBackend    func(dispatch.StoreOptions, string) (wal.Backend, error) // opens the logs
	transport      http.RoundTripper                                        // sends webhooks
	withoutKeeping bool                                                     // no maintenance on a clock
}

// Dispatcher accepts notices and delivers them. It owns the goroutines of its parts; Close ends
// them.
type Dispatcher struct {
	config     Config
	store      *dispatch.Store
	deliverer  *dispatch.Deliverer
	table      *dispatch.Table
	reader     *dispatch.Reader
	maintainer *dispatch.Maintainer
	acceptor   *dispatch.Acceptor
	stream     *dispatch.Stream
	streams    *push.Streams
	api        *api.API

	ctx    context.Context // of all attempts
	cancel context.CancelFunc
	owned  sync.WaitGroup
}

// New opens the logs and starts a dispatcher. An unknown name in c is an error that lists those
// that exist.
func New(c Config) (*Dispatcher, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	sender, err := webhook.NewSender(webhook.Options{
		Client: c.Client, Workers: c.Workers, Timeout: c.Timeout, AllowPrivate: c.AllowPrivate, Log: c.Logger, Transport: c.testing.transport,
	})
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{config: c}
	if err := d.open(sender); err != nil {
		return nil, err
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.deliverer.Start(d.ctx, d.table.Disable)
	d.owned.Go(func() { d.reader.Run(d.ctx) })
	d.owned.Go(d.endStreams)
	if !c.testing.withoutKeeping {
		d.owned.Go(func() { d.maintainer.Run(d.ctx) })
	}
	return d, nil
}

// open opens the logs, assembles the parts, and takes up what the last process left.
func (d *Dispatcher) open(sender *webhook.Sender) (err error) {
	c := d.config
	s, recovered, err := dispatch.OpenStore(dispatch.StoreOptions{
		Log: c.Log, Commit: c.Commit, Data: c.Data, JetStream: c.JetStream, AcceptDamage: c.AcceptDamage,
		DeadLetters: c.DeadLetters, DeadBytes: c.DeadBytes, Logger: c.Logger, Fail: c.Fail, Backend: c.testing.openBackend,
	})
	if err != nil {
		return err
	}
	d.store = s
	d.deliverer, err = dispatch.NewDeliverer(dispatch.DelivererOptions{
		Sender: sender, Store: s,
		Batching: c.Batching, Workers: c.Workers,
		MaxAttempts: c.MaxAttempts, Backoff: c.Backoff, MaxBackoff: c.MaxBackoff, Window: c.Window, Memory: c.Memory, Tracer: c.Tracer,
	})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	d.table = dispatch.NewTable(dispatch.TableOptions{Store: s, Deliverer: d.deliverer, SecretOverlap: c.SecretOverlap, AllowPrivate: c.AllowPrivate, Log: c.Logger})
	d.reader = dispatch.NewReader(dispatch.ReaderOptions{Store: s, Table: d.table, Deliverer: d.deliverer, KeepAge: c.KeepAge, Log: c.Logger})
	d.maintainer = dispatch.NewMaintainer(dispatch.MaintainerOptions{
		Store: s, Table: d.table, KeepAge: c.KeepAge, KeepBytes: c.KeepBytes,
		History: max(c.History, c.DedupWindow), HistoryBytes: c.HistoryBytes,
	})
	ids := dedup.New(c.DedupWindow, c.DedupLimit)
	recovery := dispatch.Recovery{Reader: d.reader, Maintainer: d.maintainer, IDs: ids, DedupLimit: c.DedupLimit, AcceptDamage: c.AcceptDamage}
	if err := recovery.Run(recovered); err != nil {
		d.deliverer.Stop()
		return errors.Join(err, s.Close())
	}
	d.stream = dispatch.NewStream(s)
	c.Streams.Log = c.Logger
	d.streams = push.New(d.stream, c.Streams)
	d.acceptor = dispatch.NewAcceptor(dispatch.AcceptorOptions{
		Store: s, IDs: ids, Table: d.table, Deliverer: d.deliverer, Stream: d.stream,
		MaxPending: c.MaxPending, MaxLog: c.MaxLog, MaxAge: c.MaxAge,
	})
	d.api = api.New(api.API{Store: s, Table: d.table, Acceptor: d.acceptor, Deliverer: d.deliverer, Streams: d.streams})
	return nil
}

// Handler serves the API.
func (d *Dispatcher) Handler() http.Handler { return d.api.Handler() }

// endStreams ends the streams when the process begins to stop: its server waits for their requests.
func (d *Dispatcher) endStreams() {
	select {
	case <-d.config.Draining:
		d.stream.Close()
	case <-d.ctx.Done():
	}
}

// Close takes no more notices, delivers what can be delivered now until ctx ends, and ends
// everything. It returns how many deliveries are still owed: the process that opens the logs next
// makes them. What waits for a receiver that failed is not waited for.
func (d *Dispatcher) Close(ctx context.Context) (left int, err error) {
	d.acceptor.Stop()
	d.stream.Close()
	for d.ctx.Err() == nil && d.unfinished() {
		select {
		case <-d.deliverer.Idle():
		case <-ctx.Done():
			d.cancel()
		}
	}
	d.end()
	left = int(d.deliverer.Pending.Load())
	d.store.Report(d.streams.Wait(ctx)) // they read the log
	return left, errors.Join(d.maintainer.Save(), d.store.Close())
}

// unfinished reports whether something is in progress, or in the log and about to be read. The log
// is checked first: what is read meanwhile is in progress then.
func (d *Dispatcher) unfinished() bool {
	return d.reader.Reading() || d.deliverer.Out() > 0
}

// end breaks off what is in progress and waits for everything that runs.
func (d *Dispatcher) end() {
	d.cancel()
	d.deliverer.Stop()
	d.owned.Wait()
}
