package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"dyno/agent/monotonic"
	"dyno/parts/queue"
	"dyno/parts/wal"
	"dyno/parts/wheel"
	"dyno/services/notify/dedup"
	"dyno/services/notify/journal"
	"dyno/services/notify/push"
)

// Config of a Dispatcher: the choice for each seam, and the settings. FromChoice reads one from an
// assembly, where the settings' defaults and bounds are.
type Config struct {
	Ingest, Queue, Client, Encoding, Batching, Log, Commit string // implementations, by name

	Data      string // folder of the logs
	JetStream JetStream

	Workers        int
	QueueCapacity  int
	BatchInflight  int   // webhooks to one batching subscriber at once
	MaxPending     int   // notices, each counted once for every subscription that is to get it; beyond: 429
	MaxLog         int64 // bytes of the log of notices; beyond: 429
	MaxAge         time.Duration
	Window         int   // notices of one subscription in memory
	Memory         int64 // bytes of all of these
	KeepAge        time.Duration
	KeepBytes      int64 // of what one subscription has not got
	History        time.Duration
	HistoryBytes   int64
	DedupWindow    time.Duration
	DedupLimit     int
	DeadLetters    int   // of one subscription
	DeadBytes      int64 // of these
	MaxAttempts    int
	Timeout        time.Duration // of an attempt
	Backoff        time.Duration // after the first failed attempt; doubles
	MaxBackoff     time.Duration
	SecretOverlap  time.Duration
	MaxStreams     int
	AllowPrivate   bool
	Tracer         trace.Tracer    // nil: no traces
	Logger         *slog.Logger    // nil: none
	Draining       <-chan struct{} // closed when streams are to end; nil: Close ends them
	Fail           func(error)     // told when a log has failed for good; nil: nobody
	AcceptDamage   bool            // start without what cannot be read
	exists         bool            // the logs were made before
	openBackend    func(Config, string) (wal.Backend, error)
	withoutKeeping bool // for tests: nothing is done on a clock
}

// tick is the resolution of retries and pauses.
const tick = time.Millisecond

// Dispatcher accepts notices and delivers them. It owns its workers, a goroutine for timers, one that reads
// what does not fit into memory, and one that keeps house; Close ends them.
type Dispatcher struct {
	config  Config
	encode  encoder
	pack    packer
	client  client
	lanes   *readyLanes
	wheel   *wheel.Wheel
	workers *workers
	spans   *spans // nil: no traces
	streams *push.Streams
	tail    *tail
	log     *slog.Logger

	notices *wal.Log
	journal *journal.Journal
	ids     *dedup.Window

	ctx    context.Context // of all attempts
	cancel context.CancelFunc
	owned  sync.WaitGroup // goroutines other than workers

	busy       atomic.Int64  // workers that are sending
	attempts   atomic.Int64  // webhooks sent
	webhooks   atomic.Int64  // of these, answered with 2xx
	pending    atomic.Int64  // notices owed, per subscription
	loaded     atomic.Int64  // bytes of those in memory
	out        atomic.Int64  // lanes let through to the workers
	lost       atomic.Int64  // deliveries that cannot be made, found since the process began
	full       atomic.Bool   // something was refused for want of space since house was last kept
	hurry      atomic.Bool   // a checkpoint is due: something is lost that should be known at the next start
	head       atomic.Uint64 // the first number that was not routed
	complained atomic.Int64  // when an error of a log was last logged, ns, monotonic
	tasks      *tasks
	idle       chan struct{} // gets a token whenever no lane is out, or nothing is pending

	pager pager

	testing chan struct{} // holds a token for each test webhook that is under way

	saving sync.Mutex // held while files may be removed from the data folder, or must not be

	mu         sync.RWMutex // guards the fields below; taken before a subscription's
	subs       map[string]*subscription
	routes     routes
	draining   bool
	checkpoint checkpoint
}

// New opens the logs and starts a dispatcher. An unknown name in c is an error that lists those that exist.
func New(c Config) (*Dispatcher, error) {
	newClient, err := pick("client", newClients, c.Client)
	if err != nil {
		return nil, err
	}
	newEncoder, err := pick("encoding", newEncoders, c.Encoding)
	if err != nil {
		return nil, err
	}
	newPacker, err := pick("batching", newPackers, c.Batching)
	if err != nil {
		return nil, err
	}
	q, err := queue.New[*lane](c.Queue, queue.Config{Capacity: c.QueueCapacity, Workers: maxWorkers + maxHanging})
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{
		config: c, encode: newEncoder(), pack: newPacker(c), client: newClient(c), lanes: newReadyLanes(q), wheel: wheel.New(tick),
		spans: newSpans(c.Tracer), tasks: newTasks(), log: c.Logger, idle: make(chan struct{}, 1),
		ids: dedup.New(c.DedupWindow, c.DedupLimit), subs: map[string]*subscription{},
		testing: make(chan struct{}, maxTesting),
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.pager.init()
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if err := d.open(); err != nil {
		d.lanes.close()
		d.cancel()
		return nil, err
	}
	d.tail = newTail(d)
	d.streams = push.New(d.tail, push.Options{MaxStreams: c.MaxStreams})
	d.workers = newWorkers(d.wheel, c.Workers, d.work)
	d.owned.Go(func() { d.wheel.Run(d.ctx) })
	d.owned.Go(d.page)
	d.owned.Go(d.endStreams)
	if !c.withoutKeeping {
		d.owned.Go(d.keep)
	}
	return d, nil
}

// endStreams ends the streams when the process begins to stop: its server waits for their requests.
func (d *Dispatcher) endStreams() {
	select {
	case <-d.config.Draining:
		d.tail.close()
	case <-d.ctx.Done():
	}
}

// open opens the logs and finds out what is still to be done.
func (d *Dispatcher) open() error {
	logs, err := openLogs(d.config)
	if err != nil {
		return err
	}
	var recovered map[string]*journal.Recovered
	d.notices = logs.notices
	if d.journal, recovered, err = journal.Open(logs.journal); err == nil {
		d.journal.Limit(d.config.DeadLetters, d.config.DeadBytes)
		if err = d.judge(d.journal.Damaged()); err == nil {
			err = d.recover(recovered)
		}
	}
	if err != nil {
		err = errors.Join(err, logs.notices.Close(), logs.journal.Close())
	}
	return err
}

// errAccept says how to go on after damage.
const errAccept = "restore the data folder from a backup, or start with --accept-damage to go on without what is lost"

// judge refuses to start when events were damaged, since no one knows what they said, unless damage is accepted.
func (d *Dispatcher) judge(damaged []*wal.DamageError) error {
	if len(damaged) == 0 {
		return nil
	}
	if !d.config.AcceptDamage {
		return fmt.Errorf("the journal is damaged, so subscriptions, or that they were deleted, may be forgotten: %w: %s", damaged[0], errAccept)
	}
	for _, damage := range damaged {
		d.log.Error("events of the journal could not be read; what they told is forgotten", "error", damage)
	}
	d.hurry.Store(true) // so that the next start finds a checkpoint behind them
	return nil
}

// pick returns the implementation of a seam called name.
func pick[T any](seam string, impls map[string]T, name string) (T, error) {
	impl, ok := impls[name]
	if !ok {
		return impl, fmt.Errorf("seam %s: nothing is called %q; there are %s", seam, name, strings.Join(slices.Sorted(maps.Keys(impls)), ", "))
	}
	return impl, nil
}

// Close takes no more notices, delivers what can be delivered at once until ctx ends, and ends everything. It
// returns how many deliveries are still owed: they are made by who opens the logs next. What waits for a
// receiver that failed is not waited for, unless the logs are in memory and it would be lost.
func (d *Dispatcher) Close(ctx context.Context) (left int, err error) {
	d.mu.Lock()
	d.draining = true
	d.mu.Unlock()
	d.tail.close()
	for d.ctx.Err() == nil && d.unfinished() {
		select {
		case <-d.idle:
		case <-ctx.Done():
			d.cancel()
		}
	}
	d.end()
	left = int(d.pending.Load())
	d.note(d.streams.Wait(ctx)) // they read the log
	return left, errors.Join(d.save(), d.journal.Close(), d.notices.Close())
}

// unfinished reports whether something is under way, or in the log and about to be read. That is asked first: what is
// read meanwhile is under way then.
func (d *Dispatcher) unfinished() bool {
	return slices.ContainsFunc(d.pager.all(), d.reads) || d.out.Load() > 0 || d.volatile() && d.pending.Load() > 0
}

// reads reports whether a subscription is about to get more from the log.
func (d *Dispatcher) reads(sub *subscription) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	return sub.behind.backlog > 0 && !sub.gone && (sub.gate.out > 0 || d.roomy(sub))
}

// end breaks off what is under way and waits for everything that runs.
func (d *Dispatcher) end() {
	d.cancel()
	d.lanes.close()
	d.workers.stop()
	d.owned.Wait()
	d.client.CloseIdleConnections()
}

// volatile reports whether what is pending is lost with the process.
func (d *Dispatcher) volatile() bool { return d.config.Log == "memory" }

// settled says that deliveries are owed no more.
func (d *Dispatcher) settled(n int64) {
	if d.pending.Add(-n) == 0 {
		d.wakeClose()
	}
}

// returned says that a lane came back from the workers.
func (d *Dispatcher) returned() {
	if d.out.Add(-1) == 0 {
		d.wakeClose()
	}
}

// wakeClose lets Close look whether there is still something to wait for.
func (d *Dispatcher) wakeClose() {
	select {
	case d.idle <- struct{}{}:
	default:
	}
}

// failing tells whoever started the dispatcher that a log can take no more.
func (d *Dispatcher) failing(err error) {
	if err == nil {
		return
	}
	if now := monotonic.Now(); now-d.complained.Load() > int64(time.Second) { // a full disk fails every event
		d.complained.Store(now)
		d.log.Error("a log could not be written", "error", err)
	}
	if d.config.Fail != nil && errors.Is(err, wal.ErrFailed) {
		d.config.Fail(fmt.Errorf("%w; nothing acknowledged is lost: fix what the error names and start again", err))
	}
}
