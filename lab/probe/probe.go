// Package probe looks at the machine and at the target while a load runs, in step with the load's
// windows: it reads /proc at each multiple of 100 ms of the monotonic clock and follows the agent's
// stream of samples, which are taken at the same instants. What a window of the client's view says about
// latency can therefore be laid beside what the server did in the same 100 ms.
//
// Profiles and a short execution trace are taken by Inspect, in windows of their own: they slow the target.
//
// It is not for judging what it sees (record, diagnose) and not for starting anything (target). Whether
// a machine is fit to measure on is said by the package doctor beneath it. A Watcher owns two
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

// Options says whom to watch. The zero Options watch the machine alone.
type Options struct {
	// PID is the target's process; with its children it counts as the target. 0: not known.
	PID int
	// Debug is the target's debug address, as in http://127.0.0.1:6060 (the scheme may be left out).
	// It may offer the agent, or only pprof; empty: there is none.
	Debug string
	// Token is for a debug address that is guarded; empty: none is sent.
	Token string
	// Companions are processes that work for the target; their children count with them. Processes of this
	// machine that the target is connected to as a client are found and added.
	Companions []int
	// Self is the lab's own process, without its children. 0: the lab's CPU time counts as others'.
	Self int
	// Counters counts the target's cache and TLB misses, where that is permitted and the processor has
	// counters. It adds to each of the target's context switches, so not where latency is reported.
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

// Watch begins to watch. It fails when the debug address does not answer at all; that there is no agent
// behind it, or no /proc here, is not an error but shows in what the Watcher returns. It also stops when
// ctx is done.
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

// Info is what the agent said about its process; nil: the target has no agent.
func (w *Watcher) Info() *agent.Info { return w.info }

// Close stops watching. What was seen can still be asked for.
func (w *Watcher) Close() {
	w.stop()
	w.ended.Wait()
	w.client.CloseIdleConnections()
}

// sampleProc takes a reading at each boundary between windows. One that it was too late for is left to
// the timeline to fill in.
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
	w.tellAll()
}

func (w *Watcher) addSample(s sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples.add(s)
	w.tellAll()
}

// tellAll wakes those that wait for a window. w.mu is held.
func (w *Watcher) tellAll() {
	close(w.changed)
	w.changed = make(chan struct{})
}
