package backfill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
)

// notFound reports whether servers do not find a ledger by its index, or none claims it.
func (r *run) notFound(index uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.failures[index]
	return t != nil && (response.CodeOf(t.last) == response.NotFound || errors.Is(t.last, servers.ErrNoServer))
}

// askByHash requests the next ledger to be linked by the hash that the ledger above it names, and
// passes a right answer on. The error is ctx's.
func (r *run) askByHash(ctx context.Context, index uint32, hash xrpl.Hash) error {
	verifier := xrpl.NewVerifier()
	right := func(it *item) error {
		if err := r.prove(it, verifier); err != nil {
			return err
		}
		return other(it.hash, hash)
	}
	way := func(ctx context.Context, s *servers.Server, it *item) error {
		return s.LedgerByHash(ctx, hash, it.answer)
	}
	if r.headers {
		way = func(ctx context.Context, s *servers.Server, it *item) error {
			return s.HeaderByHash(ctx, hash, it.answer)
		}
	}
	it, err := r.askEach(ctx, index, way, right)
	if it != nil {
		r.arrive(it)
	}
	return err
}

// parent is the parent hash of a ledger whose transactions are missing, by its header, which proves
// itself by the ledger's hash; zero if no server gives the header. The error is ctx's.
func (r *run) parent(ctx context.Context, index uint32, hash xrpl.Hash) (parent xrpl.Hash, err error) {
	if r.headers || hash.IsZero() { // nothing else to ask for, or to prove the header by
		return parent, nil
	}
	right := func(it *item) (err error) {
		if it.header, err = xrpl.ParseHeader(it.answer.Header); err != nil {
			return err
		}
		return other(it.header.Hash(), hash)
	}
	it, err := r.askEach(ctx, index, func(ctx context.Context, s *servers.Server, it *item) error {
		return s.HeaderByHash(ctx, hash, it.answer)
	}, right)
	if it == nil && err == nil {
		it, err = r.askEach(ctx, index, func(ctx context.Context, s *servers.Server, it *item) error {
			return s.Header(ctx, index, it.answer)
		}, right)
	}
	if it == nil {
		return parent, err
	}
	parent = it.header.Parent
	r.mu.Lock()
	r.lastGood, r.lastErr = time.Now(), nil
	r.mu.Unlock()
	r.recycle(it)
	return parent, nil
}

// other returns an error for a ledger that is not the requested one.
func other(got, want xrpl.Hash) error {
	if got != want {
		return fmt.Errorf("%w: asked for %v, it is %v", ErrFork, want, got)
	}
	return nil
}

// askEach requests a ledger of one server after the other, until an answer is right; one that fails
// for a reason that passes is asked again. There are at most Config.Attempts requests, within
// Config.StallTimeout. No item means that no answer was right; the error is ctx's.
func (r *run) askEach(ctx context.Context, index uint32, way func(context.Context, *servers.Server, *item) error, right func(*item) error) (*item, error) {
	limited, cancel := context.WithTimeout(ctx, r.StallTimeout)
	defer cancel()
	var asked []*servers.Member
	for range r.Attempts {
		m, err := r.Servers.AcquireAny(limited, index, asked...)
		if err != nil {
			break
		}
		it := &item{index: index, answer: r.answers.Get().(*response.Answer), from: m, asked: time.Now()}
		if err = r.sendTo(limited, m, it, way); err == nil {
			it.held = weight(it.answer)
			r.held.Add(it.held)
			if err = right(it); err == nil {
				return it, nil
			}
			if r.Level >= trust.L2 { // below, the hash is not proved
				r.recordFault(it, err)
			}
		}
		r.recycle(it)
		if !passes(err) {
			asked = append(asked, m)
		}
	}
	return nil, ctx.Err()
}

// sendTo sends one request within a server's time limit.
func (r *run) sendTo(ctx context.Context, m *servers.Member, it *item, way func(context.Context, *servers.Server, *item) error) error {
	ctx, cancel := context.WithTimeout(ctx, max(r.Timeout, 3*m.Latency()))
	defer cancel()
	it.answer.Bytes = 0
	err := way(ctx, m.Server(), it)
	since(&r.Watch.answering, it.asked)
	if err != nil {
		m.Done(it.answer.Bytes, time.Since(it.asked), err)
		return err
	}
	m.Answered(it.answer, time.Since(it.asked))
	return nil
}

// passes reports whether a server may answer the same request a little later.
func passes(err error) bool {
	switch response.CodeOf(err) {
	case response.SlowDown, response.Busy, response.NotSynced, response.Cut, response.Timeout, response.Gone:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}
