// Package probe reads the target and the machine while a load runs, in step with the load's
// windows: it reads /proc at each multiple of 100 ms of the monotonic clock, and follows the
// agent's stream of samples, which the agent takes at the same instants. So the client's latency in
// a window can be compared with what the server did in the same 100 ms.
//
// It is not for taking profiles (profiling), for judging its readings (record, diagnose) or for
// starting processes (experiment/environment). A Watcher owns two goroutines, which have ended when
// Close returns; nothing else here starts a goroutine.
package probe

import (
	"context"
	"errors"
	"sync"
	"time"

	"dyno/agent"
	"dyno/agent/monotonic"
	"dyno/lab/probe/profiling"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
)

const window = int64(record.WindowLength)

// Options says what to watch. The zero Options watch only the machine.
type Options struct {
	usage.Processes
	// Debug is the target's debug address, which serves the agent, or only net/http/pprof. An empty
	// URL means that the target has none.
	Debug profiling.Address
}

// Watcher watches until it is closed. Its methods are safe for concurrent use.
type Watcher struct {
	stop   context.CancelFunc
	ended  sync.WaitGroup
	client *profiling.Client
	info   *agent.Info
	// agentless is the error of a debug address without an agent.
	agentless error

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at each change of a field below
	proc      timeline[reading]
	peers     []record.Peer
	outgoing  *record.Outgoing // connections that the target opened; nil: not read
	samples   timeline[sample]
	streaming bool // the agent's stream is open
	remote    bool // the agent's clock is not this machine's

	sees usage.Seen // what the first reading found in /proc
	cpus int        // number of CPUs whose busy time proc has; 0: not known
}

// Watch begins to watch. It returns an error if the debug address does not answer at all. A missing
// agent or a missing /proc is not an error: the results report what could not be read. The Watcher
// also stops when ctx is done.
func Watch(ctx context.Context, o Options) (*Watcher, error) {
	return watch(ctx, o, usage.Here())
}

func watch(ctx context.Context, o Options, from usage.Source) (*Watcher, error) {
	w := &Watcher{changed: make(chan struct{}), client: profiling.New(o.Debug)}
	if o.Debug.URL != "" {
		info, err := w.client.Info(ctx)
		if err != nil && !errors.Is(err, profiling.ErrNoAgent) {
			return nil, err
		}
		w.info, w.agentless = info, err
	}
	s := usage.NewSampler(from, o.Processes)
	w.read(s)
	w.sees, w.cpus = s.Sees(), s.CPUs()
	ctx, w.stop = context.WithCancel(ctx)
	w.ended.Go(func() { w.sampleProc(ctx, s) })
	if w.info != nil {
		w.streaming = true
		w.ended.Go(func() { w.follow(ctx) })
	}
	return w, nil
}

// Info returns the agent's description of its process; nil: the target has no agent.
func (w *Watcher) Info() *agent.Info { return w.info }

// Agentless returns the error that says what the debug address answered instead of the agent; nil:
// the agent answered, or there is no debug address.
func (w *Watcher) Agentless() error { return w.agentless }

// Close stops watching. The readings stay available.
func (w *Watcher) Close() {
	w.stop()
	w.ended.Wait()
	w.client.Close()
}

// sampleProc takes a reading at each boundary between windows. The timeline interpolates those for
// which sampleProc was late.
func (w *Watcher) sampleProc(ctx context.Context, s *usage.Sampler) {
	defer s.Close()
	timer := time.NewTimer(untilBoundary(monotonic.Now()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		w.read(s)
		timer.Reset(untilBoundary(monotonic.Now()))
	}
}

func untilBoundary(now int64) time.Duration { return time.Duration(window - now%window) }

func (w *Watcher) read(s *usage.Sampler) {
	r := usage.Promptly(s.Read)
	peers, outgoing := s.Peers(r.At), s.Outgoing()
	w.update(func() {
		w.peers, w.outgoing = peers, outgoing
		w.proc.add(reading{r})
	})
}

// update makes a change with w.mu held, and wakes the callers of Server.
func (w *Watcher) update(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	close(w.changed)
	w.changed = make(chan struct{})
}
