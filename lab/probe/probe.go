// Package probe reads the target and the machine while a load runs, in step with the load's
// windows: it reads /proc at each multiple of 100 ms of the monotonic clock and follows the
// agent's stream of samples, which are taken at the same instants. The client's latency in a
// window can therefore be compared with what the server did in the same 100 ms.
//
// Inspect takes profiles and a short execution trace, in windows of their own, because they slow
// the target.
//
// It is not for judging its readings (record, diagnose) and not for starting processes (target).
// Package doctor, a subpackage, checks whether a machine is fit to measure on. A Watcher owns two
// goroutines, which have ended when Close returns; nothing else here starts one.
package probe

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"dyno/agent"
	"dyno/agent/monotonic"
	"dyno/lab/record"
)

const window = int64(record.WindowLength)

// Options names the processes to watch. The zero Options watch the machine alone.
type Options struct {
	// PID is the target's process; its children count as part of it. 0: not known.
	PID int
	// Debug is the target's debug address, as in http://127.0.0.1:6060 (the scheme may be left
	// out). It may serve the agent, or only pprof; empty: there is none.
	Debug string
	// Token is the bearer token of a guarded debug address; empty: none is sent.
	Token string
	// Companions are processes that work for the target; their children count with them. The
	// Watcher adds processes on this machine that the target is connected to as a client.
	Companions []int
	// Self is the lab's own process, without its children. 0: the lab's CPU time counts as
	// others'.
	Self int
	// Counters counts the target's cache and TLB misses, if that is permitted and the processor
	// has counters. It adds to the cost of each of the target's context switches, so leave it off
	// where latency is reported.
	Counters bool
}

// Watcher watches until it is closed. Its methods are safe for concurrent use.
type Watcher struct {
	stop   context.CancelFunc
	ended  sync.WaitGroup
	client *http.Client
	info   *agent.Info

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when something below changes
	proc      timeline[reading]
	peers     []record.Peer
	samples   timeline[sample]
	streaming bool // the agent's stream is open
	foreign   bool // the agent's clock is not this machine's

	target  bool // the target's process can be read
	machine bool // /proc/stat can be read
	psi     bool // /proc/pressure/cpu can be read
	psiIO   bool // /proc/pressure/io can be read
}

// Watch begins to watch. It fails if the debug address does not answer at all; a missing agent or
// a missing /proc is not an error but shows in the results. The Watcher also stops when ctx is
// done.
func Watch(ctx context.Context, o Options) (*Watcher, error) {
	return watch(ctx, o, host{root: "/", clock: processClock, queues: acceptQueues})
}

func watch(ctx context.Context, o Options, h host) (*Watcher, error) {
	w := &Watcher{changed: make(chan struct{}), client: newClient()}
	if o.Debug != "" {
		info, err := readInfo(ctx, w.client, o.Debug, o.Token)
		if err != nil && !errors.Is(err, ErrNoAgent) {
			return nil, err
		}
		w.info = info
	}
	s := newSampler(h, o)
	w.read(s)
	w.target, w.machine, w.psi, w.psiIO = s.seesTarget, s.seesMachine, s.seesPressure, s.seesPressureIO
	ctx, w.stop = context.WithCancel(ctx)
	w.ended.Go(func() { w.sampleProc(ctx, s) })
	if w.info != nil {
		w.streaming = true
		w.ended.Go(func() { w.follow(ctx, o.Debug, o.Token) })
	}
	return w, nil
}

// Info returns the agent's description of its process; nil: the target has no agent.
func (w *Watcher) Info() *agent.Info { return w.info }

// Close stops watching. The readings stay available.
func (w *Watcher) Close() {
	w.stop()
	w.ended.Wait()
	w.client.CloseIdleConnections()
}

// sampleProc takes a reading at each boundary between windows. If it is too late for one, the
// timeline fills it in.
func (w *Watcher) sampleProc(ctx context.Context, s *sampler) {
	defer s.close()
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

// read takes a reading.
func (w *Watcher) read(s *sampler) {
	r := s.read(monotonic.Now())
	var peers []record.Peer
	for _, p := range s.peers {
		peers = append(peers, p.recorded(r.at))
	}
	w.mu.Lock()
	w.peers = peers
	w.mu.Unlock()
	w.addReading(r)
}

func (w *Watcher) addReading(r reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.proc.add(r)
	w.broadcast()
}

func (w *Watcher) addSample(s sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples.add(s)
	w.broadcast()
}

// broadcast wakes the callers that wait for a window. The caller holds w.mu.
func (w *Watcher) broadcast() {
	close(w.changed)
	w.changed = make(chan struct{})
}
