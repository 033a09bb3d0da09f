package backfill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
)

// retryPause is the wait between two attempts to fetch a ledger for which no server could be asked:
// all are cooling down, or none has it yet.
const retryPause = 500 * time.Millisecond

// lookEvery is how often drive looks whether servers still answer, when nothing else happens.
const lookEvery = time.Second

// drive asks the planner for a shard whenever a fetcher is free, and runs the fetcher, until all
// ledgers are linked; it waits for the fetchers.
func (r *run) drive(ctx context.Context) error {
	var fetchers sync.WaitGroup
	defer fetchers.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var stall stallDetector
	var seen ShardStats
	for {
		r.mu.Lock()
		now := time.Now()
		var s shard
		ok := false
		if stall.fetches.Load() < int64(r.Fetches) {
			s, ok = r.next(now)
		}
		done := r.planner.Done()
		asking := (ok || stall.fetches.Load() > 0) && r.lastErr != nil && !r.Servers.RetryAfterPending()
		if stall.pass(now, r.lastGood, asking) > r.StallTimeout {
			r.fatalErr = fmt.Errorf("%w for %v: %w", ErrStalled, r.StallTimeout, r.lastErr)
			signal(r.linked)
		}
		planned := r.planner.Stats()
		r.mu.Unlock()
		r.Watch.planned(planned, seen)
		seen = planned
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case ok:
			stall.fetches.Add(1)
			fetchers.Go(func() {
				r.fetch(ctx, s)
				stall.fetches.Add(-1)
				signal(r.wake)
			})
			continue
		}
		timer := time.NewTimer(lookEvery)
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

// signal wakes the goroutine that waits on a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fetch requests the ledgers of a shard one after the other, from its top down. When its time limit
// passes or a server fails, the rest goes back to the planner.
func (r *run) fetch(ctx context.Context, s shard) {
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
		it := &item{index: index, shard: s, answer: r.answers.Get().(*response.Answer)}
		if err := r.get(ctx, it); err != nil {
			r.recycle(it)
			r.failed(s, index, err)
			return
		}
		if !r.put(it) {
			r.recycle(it)
			// Cannot happen: the queue holds two windows.
			r.failed(s, index, errors.New("too many answers wait to be proved"))
			return
		}
	}
}

// get returns an answer that an earlier run left in the inbox, or requests one from a server and
// puts it into the inbox.
func (r *run) get(ctx context.Context, it *item) error {
	inbox := r.Inbox
	if inbox == nil || r.headers {
		return r.ask(ctx, it)
	}
	a := it.answer
	a.Bytes = 0 // it costs no server's budget
	if server, id, ok := inbox.Take(it.index, &a.Ledger); ok {
		it.from, it.kept, it.asked = r.Servers.Earlier(server), id, time.Now()
		r.mu.Lock()
		r.planner.Asking(it.shard, it.asked)
		r.mu.Unlock()
		return ctx.Err()
	}
	if err := r.ask(ctx, it); err != nil {
		return err
	}
	it.kept = inbox.Keep(it.from.Name(), &a.Ledger)
	return nil
}

// ask requests an answer from the best server that has not given a wrong one for this ledger.
func (r *run) ask(ctx context.Context, it *item) error {
	m, err := r.acquire(ctx, it)
	if err != nil {
		return err
	}
	it.from, it.asked, it.answer.Bytes = m, time.Now(), 0
	r.mu.Lock()
	r.planner.Asking(it.shard, it.asked)
	r.mu.Unlock()
	if err := r.request(ctx, m, it); err != nil {
		took := time.Since(it.asked)
		since(&r.Watch.answering, it.asked)
		m.Done(it.answer.Bytes, took, err)
		return &serverError{m, err}
	}
	since(&r.Watch.answering, it.asked)
	m.Answered(it.answer, time.Since(it.asked))
	return nil
}

// request asks one server, and counts a late answer as that server's failure. Its time limit is
// well below the shard's, so that another server can still be asked; it is longer for a server with
// a high latency, and doubles from one attempt to the next.
func (r *run) request(ctx context.Context, m *servers.Member, it *item) error {
	fair := min(max(it.shard.Timeout/4, 3*m.Latency()), it.shard.Timeout)
	r.mu.Lock()
	limit := fair
	if t := r.failures[it.index]; t != nil {
		limit = min(fair<<min(t.count, 2), it.shard.Timeout)
	}
	r.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.call(limited, m, it)
	// When the shard's time limit cuts the request short, the server is at fault only after fair.
	overdue := errors.Is(context.Cause(limited), context.DeadlineExceeded) && time.Since(it.asked) >= fair
	if err != nil && response.CodeOf(err) == 0 && overdue {
		err = &response.Error{Code: response.Timeout, Server: m.Name(), Err: fmt.Errorf("no answer within %v", min(limit, time.Since(it.asked)).Round(time.Millisecond))}
	}
	return err
}

func (r *run) call(ctx context.Context, m *servers.Member, it *item) error {
	if !r.headers {
		return m.Server().Ledger(ctx, it.index, it.answer)
	}
	return m.Server().Header(ctx, it.index, it.answer)
}

// acquire waits for a server. A server that failed this ledger before is asked again only when no
// other server has the ledger.
func (r *run) acquire(ctx context.Context, it *item) (*servers.Member, error) {
	excluded := r.excluded(it)
	m, err := r.Servers.Acquire(ctx, it.index, excluded...)
	if len(excluded) > 0 && errors.Is(err, servers.ErrNoServer) {
		m, err = r.Servers.Acquire(ctx, it.index)
	}
	if errors.Is(err, servers.ErrNoServer) { // a server may get it soon
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	return m, err
}

type serverError struct {
	from *servers.Member
	err  error
}

func (f *serverError) Error() string { return fmt.Sprintf("%s: %v", f.from.Name(), f.err) }
func (f *serverError) Unwrap() error { return f.err }

// excluded returns the servers that failed the ledger, or its shard, before.
func (r *run) excluded(it *item) []*servers.Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	var excluded []*servers.Member
	if t := r.failures[it.index]; t != nil {
		excluded = append(excluded, t.wrong...)
	}
	if m, ok := it.shard.Not.(*servers.Member); ok {
		excluded = append(excluded, m)
	}
	return excluded
}

// wanted says whether a shard's ledger still needs fetching: it may have been brought by its
// hash, or given up.
func (r *run) wanted(s shard, index uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.planner.Wants(s, index)
}

// failed returns to the planner what a shard did not bring, from an index down.
func (r *run) failed(s shard, index uint32, err error) {
	var from any
	f := new(serverError)
	asked := errors.As(err, &f)
	if asked {
		from = f.from
	}
	// Not an attempt: the shard's time limit passed before the server's, or a server that claims
	// the ledger is cooling down.
	attempt := response.CodeOf(err) != 0 || errors.Is(err, servers.ErrNoServer) && !errors.Is(err, servers.ErrCoolingDown)
	r.mu.Lock()
	defer r.mu.Unlock()
	if attempt && r.planner.Wants(s, index) {
		r.tried(index, err)
	}
	r.planner.Failed(s, index, from)
	if asked && !errors.Is(err, context.Canceled) && r.planner.Idle(index) {
		r.Watch.Refetched.Add(1)
	}
	signal(r.wake)
}
