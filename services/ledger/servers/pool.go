// Package servers asks servers of the XRP Ledger, rippled or Clio, for ledgers, and chooses the
// server for each request.
//
// A Server is one of them: it requests ledgers over JSON-RPC (http, https) or WebSocket (ws, wss).
// Its errors carry a Code, so that a caller can distinguish a busy server from a faulty one. It
// reads answers with package response, proves none of them (services/ledger/xrpl does), and neither
// limits rates nor retries: a request is sent once. A Server over HTTP owns its connections only.
// One over WebSocket owns two goroutines per connection, one that reads and one that pings; Close
// ends them and waits for them.
//
// A Pool is a load balancer over several, with rate limits, scores and cooldown. It keeps each
// server within its request and byte budgets, which servers do not announce and the pool estimates
// (rate). It prefers the server with the best score (success rate, latency, faults), and takes
// another when that one has no budget left, is cooling down or lacks the ledger. A server that
// fails several times, or sends several wrong answers in a row, cools down for a while and is
// probed with one request afterwards (half-open).
//
// A Pool sends no requests except for the ledger ranges that servers have (the caller sends the
// others with Member.Server), and does not decide which ledger is requested next or again. It owns
// no goroutine: the caller runs Run, and a timer wakes the callers that wait in Acquire. There is
// one lock, the Pool's; no code blocks while holding it.
package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dyno/services/ledger/servers/response"
)

// ErrNoServer means that waiting cannot help: each server lacks the ledger or is excluded.
var ErrNoServer = errors.New("no server can be asked")

// ErrCoolingDown is an ErrNoServer that passes: a server claims the ledger, but answered "not
// found" a moment ago.
var ErrCoolingDown = fmt.Errorf("%w now", ErrNoServer)

// PoolConfig configures a Pool.
type PoolConfig struct {
	Servers []*Server
	// Refresh is the interval at which Run asks each server which ledgers it has. 0: 30 s.
	Refresh time.Duration
	// Most is the maximum rate in requests/s per server. 0: only the server's own limit.
	Most float64
}

type source interface {
	Name() string
	InFlight() int
	Info(ctx context.Context) (response.Info, error)
}

// Pool is a set of servers. Its methods may be called by several goroutines.
type Pool struct {
	refresh time.Duration

	mu        sync.Mutex
	servers   []*server
	waiting   []*waiter // the highest ledger first: proofs lead down, so all other ledgers wait for it
	timer     *time.Timer
	waitTimes waitTimes
}

type waiter struct {
	index uint32
	only  source // nil: any
	not   []*Member
	lax   bool         // also of a server that does not claim the ledger
	ready chan outcome // capacity 1
}

func (w *waiter) accepts(s *server) bool {
	if w.only != nil && w.only != s.source {
		return false
	}
	return !slices.ContainsFunc(w.not, func(m *Member) bool { return m != nil && m.server == s })
}

// claim is the ledger that a server must have; 0: any.
func (w *waiter) claim() uint32 {
	if w.lax {
		return 0
	}
	return w.index
}

func (w *waiter) any() bool { return w.only == nil && len(w.not) == 0 }

type outcome struct {
	member *Member
	err    error
}

// NewPool makes a pool. Until the first Run or Refresh, servers are assumed to have every ledger.
func NewPool(c PoolConfig) *Pool {
	sources := make([]source, len(c.Servers))
	for i, s := range c.Servers {
		sources[i] = s
	}
	return newPool(c, sources)
}

func newPool(c PoolConfig, sources []source) *Pool {
	if c.Refresh <= 0 {
		c.Refresh = 30 * time.Second
	}
	p := &Pool{refresh: c.Refresh}
	for _, s := range sources {
		p.servers = append(p.servers, newServer(s, c.Most))
	}
	p.timer = time.AfterFunc(time.Hour, p.wake)
	p.timer.Stop()
	return p
}

// Acquire waits until the rate limit permits a request for a ledger to a server that has it and is
// not in not; index 0 means any ledger. The waiter with the highest ledger is served first. The
// Member is for one request, and the caller must call its Done. The error is ErrNoServer, with the
// reasons (it may be ErrCoolingDown), or that of ctx.
func (p *Pool) Acquire(ctx context.Context, index uint32, not ...*Member) (*Member, error) {
	return p.wait(ctx, &waiter{index: index, not: not})
}

// AcquireAny is Acquire for a request that does not depend on a ledger's index: also to a server
// that does not claim the ledger, or does not find it by its index.
func (p *Pool) AcquireAny(ctx context.Context, index uint32, not ...*Member) (*Member, error) {
	return p.wait(ctx, &waiter{index: index, not: not, lax: true})
}

// AcquireOf is Acquire for a given server. Callers use it to get the answer of each server.
func (p *Pool) AcquireOf(ctx context.Context, s *Server, index uint32) (*Member, error) {
	return p.wait(ctx, &waiter{index: index, only: s})
}

func (p *Pool) wait(ctx context.Context, w *waiter) (*Member, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.ready = make(chan outcome, 1)
	p.mu.Lock()
	at, _ := slices.BinarySearchFunc(p.waiting, w.index, func(w *waiter, index uint32) int {
		if w.index >= index {
			return -1
		}
		return 1
	})
	p.waiting = slices.Insert(p.waiting, at, w)
	p.dispatch(time.Now())
	p.mu.Unlock()
	select {
	case o := <-w.ready:
		return o.member, o.err
	case <-ctx.Done():
	}
	p.leave(w)
	return nil, ctx.Err()
}

// leave removes a waiter, and returns a Member that it was given in the meantime.
func (p *Pool) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.waiting {
		if other == w {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return
		}
	}
	if o := <-w.ready; o.member != nil {
		o.member.refund(time.Now())
	}
	p.dispatch(time.Now())
}

func (p *Pool) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dispatch(time.Now())
}

// dispatch gives servers to waiters, in order, and sets the timer for the rest. It must be called
// after every change that may end a wait.
func (p *Pool) dispatch(now time.Time) {
	p.waitTimes.pass(now)
	kept, wait, held := p.waiting[:0], time.Duration(-1), free
	blocked := false // all servers that the remaining waiters could use have no budget
	for _, w := range p.waiting {
		if blocked && w.any() {
			kept = append(kept, w)
			continue
		}
		v := p.pick(w, now)
		switch {
		case v.best != nil:
			w.ready <- outcome{member: v.best.take(p, w.claim(), now)}
		case v.err != nil:
			w.ready <- outcome{err: v.err}
		default:
			kept = append(kept, w)
			if wait < 0 || v.wait < wait {
				wait = v.wait
			}
			if held == free {
				held = v.held
			}
			// A skipped waiter may use a server that is ready earlier than this one's.
			if blocked = v.all; blocked {
				wait = min(wait, v.soonest)
			}
		}
	}
	clear(p.waiting[len(kept):])
	p.waiting = kept
	p.waitTimes.held = held
	if wait >= 0 {
		p.timer.Reset(max(wait, 50*time.Microsecond)) // resolution of timers
	} else {
		p.timer.Stop()
	}
}

type view struct {
	best *server
	wait time.Duration // until a server may be ready; a Done may come earlier
	held reason        // why the server that is ready first is not ready now
	all  bool          // no server at all is ready
	err  error         // no server to wait for

	soonest time.Duration // until any server may be ready, also one that this waiter does not accept
}

const forever = time.Hour // only a Done ends this wait

func (p *Pool) pick(w *waiter, now time.Time) view {
	v := view{wait: forever, held: connections, all: true, soonest: forever}
	likely := lacks
	for _, s := range p.servers {
		wait, held := s.ready(now)
		v.all, v.soonest = v.all && held != free, min(v.soonest, wait)
		if !w.accepts(s) {
			continue
		}
		l := s.likelihood(w.claim(), now)
		if l < likely || l <= denies {
			continue
		}
		if l > likely { // a server that may have it is used only if none claims it
			likely, v.best, v.wait, v.held = l, nil, forever, connections
		}
		switch {
		case held == free:
			if v.best == nil || s.score() > v.best.score() {
				v.best = s
			}
		case wait < v.wait:
			v.wait, v.held = wait, held
		}
	}
	if likely <= denies {
		v.err = p.noServer(w, now)
	}
	return v
}

// noServer returns an error that says for each server why it cannot be asked.
func (p *Pool) noServer(w *waiter, now time.Time) error {
	kind := ErrNoServer
	var why []string
	for _, s := range p.servers {
		switch {
		case w.only != nil && w.only != s.source: // not asked for
		case !w.accepts(s):
			why = append(why, s.name+" is excluded")
		case s.likelihood(w.index, now) == lacks:
			why = append(why, fmt.Sprintf("%s has only %.100s", s.name, s.complete.String()))
		case s.complete.Has(w.index):
			kind = ErrCoolingDown
			why = append(why, s.name+" claims it, but answered not found")
		default:
			why = append(why, s.name+" does not claim it, and answered not found")
		}
	}
	return fmt.Errorf("ledger %d: %w: %s", w.index, kind, strings.Join(why, "; "))
}

// Refresh asks every server concurrently which ledgers it has. It fails when no server answers.
func (p *Pool) Refresh(ctx context.Context) error {
	errs := make([]error, len(p.servers))
	var asked sync.WaitGroup
	for i, s := range p.servers {
		asked.Go(func() { errs[i] = p.ask(ctx, s) })
	}
	asked.Wait()
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errors.Join(errs...)
}

// discoverWithin is the longest wait for the other servers after the first answer.
const discoverWithin = 2 * time.Second

// errLate is the error of a server that missed discoverWithin.
var errLate = fmt.Errorf("no answer within %v of another server's", discoverWithin)

// Discover is Refresh for the start of a run: a server that hangs does not delay the others.
func (p *Pool) Discover(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make(chan error, len(p.servers))
	for _, s := range p.servers {
		go func() { answers <- p.ask(ctx, s) }() // the loop below receives from each
	}
	var errs []error
	for range p.servers {
		if err := <-answers; err != nil {
			errs = append(errs, err)
			continue
		}
		defer time.AfterFunc(discoverWithin, func() { cancel(errLate) }).Stop()
	}
	if len(errs) < len(p.servers) {
		return nil
	}
	return errors.Join(errs...)
}

// Run calls Refresh periodically, until ctx is done.
func (p *Pool) Run(ctx context.Context) error {
	tick := time.NewTicker(p.refresh)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			_ = p.Refresh(ctx) // Report shows failures; the next tick asks again
		}
	}
}

// ask requests server_info; the request counts against the server's budget.
func (p *Pool) ask(ctx context.Context, s *server) error {
	p.mu.Lock()
	m := s.take(p, 0, time.Now())
	p.mu.Unlock()
	begin := time.Now()
	info, err := s.source.Info(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errLate) {
		err = &response.Error{Code: response.Timeout, Server: s.name, Err: errLate}
	}
	if err == nil && !info.Synced {
		err = &response.Error{Code: response.NotSynced, Server: s.name, Err: errors.New("server_info says that it is not synced")}
	}
	m.Done(info.Bytes, time.Since(begin), err)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.learn(info, time.Now())
	p.dispatch(time.Now())
	return nil
}

// RetryAfterPending says whether any server has sent a Retry-After that has not passed yet.
func (p *Pool) RetryAfterPending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	return slices.ContainsFunc(p.servers, func(s *server) bool { return s.retryUntil.After(now) })
}

// Close stops the timer. No caller may be waiting in Acquire.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
}
