package backfill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/parts/workpool"
	"dyno/services/ledger/pace"
	"dyno/services/ledger/rippled"
	"dyno/services/ledger/shard"
)

// retryPause is between two tries of a ledger that nobody could be asked for: all servers are away, or have none of it yet.
const retryPause = 500 * time.Millisecond

// drive gives the fetchers what the planner wants fetched, until all is linked, and waits for them.
func (r *run) drive(ctx context.Context) error {
	pool := workpool.New(workpool.Config{Workers: r.Fetches, Capacity: r.Fetches})
	defer pool.Close()
	var vain vain
	var seen shard.Stats
	for {
		r.mu.Lock()
		now := time.Now()
		s, ok := r.next(now)
		wait, done := r.planner.Wait(now), r.planner.Done()
		asking := (ok || vain.fetches.Load() > 0) && r.bad != nil && !r.Servers.Promised()
		if vain.pass(now, r.good, asking) > r.Patience {
			r.gone = fmt.Errorf("for %v nobody answered rightly: %w", r.Patience, r.bad)
			signal(r.linked)
		}
		planned := r.planner.Stats()
		r.mu.Unlock()
		r.Watch.planned(planned, seen)
		seen = planned
		switch {
		case done:
			return nil
		case ok:
			priority := int64(r.gap.To - s.To) // the distance from the anchor
			vain.fetches.Add(1)
			if err := pool.Submit(ctx, priority, func(ctx context.Context) {
				defer vain.fetches.Add(-1)
				r.fetch(ctx, s)
			}); err != nil {
				return err
			}
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-r.wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

// signal wakes who waits on a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fetch asks for the ledgers of a shard, one after the other, from its top down. What is left when its time is over,
// or when a server fails, goes back to the planner.
func (r *run) fetch(ctx context.Context, s shard.Shard) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	for index := s.To; index >= s.From && index > 0; index-- {
		if !r.wanted(s, index) {
			continue
		}
		if !r.room(index) {
			r.failed(s, index, errNoRoom)
			return
		}
		it := &item{index: index, shard: s, answer: r.answers.Get().(*rippled.Answer)}
		if err := r.get(ctx, it); err != nil {
			r.recycle(it)
			r.failed(s, index, err)
			return
		}
		if !r.queue.Put(uint64(index), it) {
			r.recycle(it)
			r.failed(s, index, errors.New("too many answers wait to be proved")) // cannot be: the queue holds two windows
			return
		}
	}
}

// get gets an answer: one that is in the inbox since an earlier run, or a server's, which goes there.
func (r *run) get(ctx context.Context, it *item) error {
	inbox := r.Inbox
	if inbox == nil || r.headers {
		return r.ask(ctx, it)
	}
	a := it.answer
	a.Bytes = 0 // it costs no server anything
	if server, id, ok := inbox.Take(it.index, &a.Ledger); ok {
		it.from, it.kept, it.asked = r.Servers.Earlier(server), id, time.Now()
		r.mu.Lock()
		r.planner.Asking(it.shard, it.index, it.from, it.asked)
		r.mu.Unlock()
		return ctx.Err()
	}
	if err := r.ask(ctx, it); err != nil {
		return err
	}
	it.kept = inbox.Keep(it.from.Name(), &a.Ledger)
	return nil
}

// ask gets an answer from the best server that is not known to be wrong of it.
func (r *run) ask(ctx context.Context, it *item) error {
	m, err := r.acquire(ctx, it)
	if err != nil {
		return err
	}
	it.from, it.asked, it.answer.Bytes = m, time.Now(), 0
	r.mu.Lock()
	r.planner.Asking(it.shard, it.index, m, it.asked)
	r.mu.Unlock()
	if err := r.request(ctx, m, it); err != nil {
		took := time.Since(it.asked)
		since(&r.Watch.answering, it.asked)
		m.Done(it.answer.Bytes, took, err)
		return &fetchError{m, err}
	}
	since(&r.Watch.answering, it.asked)
	m.Answered(it.answer, time.Since(it.asked))
	return nil
}

// request asks one server, and holds it to account when it does not answer in time. That is well before the shard's time
// is over, so that another can be asked; but longer for who usually takes long, and from one try to the next.
func (r *run) request(ctx context.Context, m *pace.Member, it *item) error {
	fair := min(max(it.shard.Timeout/4, 3*m.Latency()), it.shard.Timeout)
	r.mu.Lock()
	limit := fair
	if t := r.trouble[it.index]; t != nil {
		limit = min(fair<<min(t.count, 2), it.shard.Timeout)
	}
	r.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.call(limited, m, it)
	// At the end of a shard's time it depends on how much of that there was.
	overdue := errors.Is(context.Cause(limited), context.DeadlineExceeded) && time.Since(it.asked) >= fair
	if err != nil && rippled.KindOf(err) == 0 && overdue {
		err = &rippled.Trouble{Kind: rippled.Timeout, Server: m.Name(), Err: fmt.Errorf("no answer within %v", min(limit, time.Since(it.asked)).Round(time.Millisecond))}
	}
	return err
}

func (r *run) call(ctx context.Context, m *pace.Member, it *item) error {
	if !r.headers {
		return m.Server().Ledger(ctx, it.index, it.answer)
	}
	a, err := m.Server().Header(ctx, it.index)
	if err == nil {
		it.answer = a
	}
	return err
}

// errNobodyElse is for a hedge: it is to ask another than who is at the ledger.
var errNobodyElse = errors.New("nobody else has the ledger")

// acquire waits for a server. Who failed the ledger before is asked again only when there is nobody else, and not by a hedge.
func (r *run) acquire(ctx context.Context, it *item) (*pace.Member, error) {
	not := r.not(it)
	m, err := r.Servers.Acquire(ctx, it.index, not...)
	if it.shard.Hedge && errors.Is(err, pace.ErrNone) {
		return nil, errNobodyElse
	}
	if len(not) > 0 && errors.Is(err, pace.ErrNone) {
		m, err = r.Servers.Acquire(ctx, it.index)
	}
	if errors.Is(err, pace.ErrNone) { // they may yet have it
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	return m, err
}

// fetchError is an answer that was none, of a server.
type fetchError struct {
	from *pace.Member
	err  error
}

func (f *fetchError) Error() string { return fmt.Sprintf("%s: %v", f.from.Name(), f.err) }
func (f *fetchError) Unwrap() error { return f.err }

// not is who failed the ledger, or its shard, before.
func (r *run) not(it *item) []*pace.Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	var not []*pace.Member
	if t := r.trouble[it.index]; t != nil {
		not = append(not, t.wrong...)
	}
	if m, ok := it.shard.Not.(*pace.Member); ok {
		not = append(not, m)
	}
	return not
}

// wanted says whether a shard's ledger is still to be had: its twin, a hedge, may have brought it.
func (r *run) wanted(s shard.Shard, index uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.planner.Wants(s, index)
}

// failed gives back what a shard did not bring, from an index down.
func (r *run) failed(s shard.Shard, index uint32, err error) {
	var from any
	f := new(fetchError)
	asked := errors.As(err, &f)
	if asked {
		from = f.from
	}
	// It is no try when the shard's time was over before that of a server, nor while one that says it has the ledger is not to
	// be asked again yet.
	try := rippled.KindOf(err) != 0 || errors.Is(err, pace.ErrNone) && !errors.Is(err, pace.ErrNotNow)
	r.mu.Lock()
	defer r.mu.Unlock()
	if try && r.planner.Wants(s, index) {
		r.tried(index, err)
	}
	r.planner.Failed(s, index, from, time.Now())
	if asked && !errors.Is(err, context.Canceled) && r.planner.Idle(index) {
		r.Watch.Refetched.Add(1)
	}
	signal(r.wake)
}
