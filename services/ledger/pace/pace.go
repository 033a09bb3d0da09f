// Package pace shares requests out among servers: each as fast as its budgets of requests and bytes a second allow,
// which nobody tells and parts/aimd finds; the best first, by how it has answered; another when that one has no budget
// left, is in trouble or lacks the ledger. It takes blame for wrong answers, lets who is in trouble cool down, and
// tries them with one request before it trusts them again.
//
// It sends nothing but questions for what servers have (services/ledger/rippled does), and does not decide what is
// asked for next, or again (services/ledger/shard does). It keeps no goroutine: Run is the caller's, and a timer wakes
// those who wait in Acquire. Locks: the Pool's one, under which nothing blocks.
package pace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dyno/services/ledger/rippled"
)

// ErrNone says that no server can be asked for a ledger, however long one waits: each lacks it, or is not wanted.
var ErrNone = errors.New("no server can be asked")

// ErrNotNow is an ErrNone that passes: a server says that it has the ledger, and answered a moment ago that it has not.
var ErrNotNow = fmt.Errorf("%w now", ErrNone)

// Config is what a Pool is made of.
type Config struct {
	Servers []*rippled.Server
	// Refresh is how often Run asks a server which ledgers it has. 0: 30 s.
	Refresh time.Duration
	// Most is the highest rate, in requests/s of a server. 0: none but what it allows.
	Most float64
}

// source is what a Pool needs of a rippled.Server.
type source interface {
	Name() string
	InFlight() int
	Info(ctx context.Context) (rippled.Info, error)
}

// Pool is some servers. Its methods may be called by several goroutines.
type Pool struct {
	refresh time.Duration

	mu      sync.Mutex
	servers []*server
	waiting []*waiter // the highest ledger first: proof goes down, so all else waits for that
	timer   *time.Timer
	binding binding
}

// waiter is a call of Acquire that waits.
type waiter struct {
	index uint32
	only  source // nil: any
	not   []*Member
	ready chan outcome // has room for one
}

// takes says whether a server is one for who waits.
func (w *waiter) takes(s *server) bool {
	if w.only != nil && w.only != s.source {
		return false
	}
	return !slices.ContainsFunc(w.not, func(m *Member) bool { return m != nil && m.server == s })
}

// any says whether every server is.
func (w *waiter) any() bool { return w.only == nil && len(w.not) == 0 }

type outcome struct {
	member *Member
	err    error
}

// New makes a pool. Nothing is asked yet: until Run or Refresh has, servers are taken to have every ledger.
func New(c Config) *Pool {
	sources := make([]source, len(c.Servers))
	for i, s := range c.Servers {
		sources[i] = s
	}
	return newPool(c, sources)
}

func newPool(c Config, sources []source) *Pool {
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

// Acquire waits until a server may be asked for a ledger that it has, and is not among not; index 0 is any ledger. Of
// those who wait, the one with the highest ledger comes first. The
// Member is for one request, and must be Done. Errors are ErrNone, with why, which may be ErrNotNow, and that of ctx.
func (p *Pool) Acquire(ctx context.Context, index uint32, not ...*Member) (*Member, error) {
	return p.wait(ctx, &waiter{index: index, not: not})
}

// AcquireOf is Acquire for who asks a certain server: each of them, say, to hear what all have to say.
func (p *Pool) AcquireOf(ctx context.Context, s *rippled.Server, index uint32) (*Member, error) {
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

// leave takes a waiter out, and gives back what it was given at this moment.
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
		o.member.giveBack(time.Now())
	}
	p.dispatch(time.Now())
}

func (p *Pool) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dispatch(time.Now())
}

// dispatch gives servers to who waits for one, in order, and sets the timer for the rest. It is called whenever
// something has changed that somebody may wait for.
func (p *Pool) dispatch(now time.Time) {
	p.binding.pass(now)
	kept, wait, held := p.waiting[:0], time.Duration(-1), free
	blocked := false // the servers that all who wait could use are known to have no budget
	for _, w := range p.waiting {
		if blocked && w.any() {
			kept = append(kept, w)
			continue
		}
		v := p.pick(w, now)
		switch {
		case v.best != nil:
			w.ready <- outcome{member: v.best.take(p, w.index, now)}
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
			if blocked = v.all; blocked { // who is skipped may use a server that is ready earlier than this one's
				wait = min(wait, v.soonest)
			}
		}
	}
	clear(p.waiting[len(kept):])
	p.waiting = kept
	p.binding.held = held
	if wait >= 0 {
		p.timer.Reset(max(wait, 50*time.Microsecond)) // timers are not finer
	} else {
		p.timer.Stop()
	}
}

// view is what can be done for a waiter.
type view struct {
	best *server
	wait time.Duration // until one may be ready; a Done may come earlier
	held reason        // what holds the one that is ready first
	all  bool          // no server at all is ready
	err  error         // there is none to wait for

	soonest time.Duration // until any server may be ready, whether it is one for this waiter or not
}

const long = time.Hour // for what only a Done ends

func (p *Pool) pick(w *waiter, now time.Time) view {
	v := view{wait: long, held: connections, all: true, soonest: long}
	likely := lacks
	for _, s := range p.servers {
		wait, held := s.ready(now)
		v.all, v.soonest = v.all && held != free, min(v.soonest, wait)
		if !w.takes(s) {
			continue
		}
		l := s.has(w.index, now)
		if l < likely || l <= denies {
			continue
		}
		if l > likely { // who may have it is asked only if nobody says so
			likely, v.best, v.wait, v.held = l, nil, long, connections
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
		v.err = p.none(w, now)
	}
	return v
}

// none says why there is nobody to wait for.
func (p *Pool) none(w *waiter, now time.Time) error {
	kind := ErrNone
	var why []string
	for _, s := range p.servers {
		switch {
		case w.only != nil && w.only != s.source: // is not the question
		case !w.takes(s):
			why = append(why, s.name+" is not wanted")
		case s.has(w.index, now) == lacks:
			why = append(why, fmt.Sprintf("%s has only %.100s", s.name, s.complete.String()))
		case s.complete.Has(w.index):
			kind = ErrNotNow
			why = append(why, s.name+" says it has it, but answered not found")
		default:
			why = append(why, s.name+" answered not found, as it has not said that it has it")
		}
	}
	return fmt.Errorf("ledger %d: %w: %s", w.index, kind, strings.Join(why, "; "))
}

// Refresh asks every server which ledgers it has, at the same time. It fails when none answers.
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

// meetWithin is how much longer than the first to answer the others are waited for.
const meetWithin = 2 * time.Second

// errLate is why a server is not waited for.
var errLate = fmt.Errorf("no answer within %v of another server's", meetWithin)

// Meet is Refresh for the beginning: one server that hangs does not hold up the others.
func (p *Pool) Meet(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make(chan error, len(p.servers))
	for _, s := range p.servers {
		go func() { answers <- p.ask(ctx, s) }() // each is waited for
	}
	var errs []error
	for range p.servers {
		if err := <-answers; err != nil {
			errs = append(errs, err)
			continue
		}
		defer time.AfterFunc(meetWithin, func() { cancel(errLate) }).Stop()
	}
	if len(errs) < len(p.servers) {
		return nil
	}
	return errors.Join(errs...)
}

// Run asks again and again, until ctx is done.
func (p *Pool) Run(ctx context.Context) error {
	tick := time.NewTicker(p.refresh)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			_ = p.Refresh(ctx) // who fails is seen in Report, and asked again
		}
	}
}

// ask counts as a request of the server's budget.
func (p *Pool) ask(ctx context.Context, s *server) error {
	p.mu.Lock()
	m := s.take(p, 0, time.Now())
	p.mu.Unlock()
	begin := time.Now()
	info, err := s.source.Info(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errLate) {
		err = &rippled.Trouble{Kind: rippled.Timeout, Server: s.name, Err: errLate}
	}
	if err == nil && !info.Synced {
		err = &rippled.Trouble{Kind: rippled.NotSynced, Server: s.name, Err: errors.New("it says so itself")}
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

// Promised says whether a server told when it is to be asked again, and that is still to come.
func (p *Pool) Promised() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	return slices.ContainsFunc(p.servers, func(s *server) bool { return s.promised.After(now) })
}

// Close stops the timer. Nobody may wait any more.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
}
