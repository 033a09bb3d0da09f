package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dyno/services/ledger/backfill"
	"dyno/services/ledger/rippled"
	"dyno/services/ledger/trust"
)

// anchor finds the hash that the range is proved from, and records its source.
func (p *pipeline) anchor(ctx context.Context) (t backfill.Trusted, err error) {
	if p.config.Level < trust.L2 {
		p.trustSource = "ledgers are not linked at " + p.request.level
		return t, nil
	}
	t, ok, err := p.request.named()
	switch {
	case err != nil:
		return t, err
	case ok:
		p.trustSource = fmt.Sprintf("ledger %d is %v, as given with --anchor", t.Index, t.Hash)
		return t, nil
	case p.request.anchor == quorum:
		return p.byQuorum(ctx, p.request.to)
	}
	return p.byServers(ctx, p.request.to)
}

var waitsForQuorum = "waiting for the validators to agree on a ledger"

// byQuorum waits until the trusted validators agree on a ledger at or above the range.
func (p *pipeline) byQuorum(ctx context.Context, top uint32) (t backfill.Trusted, err error) {
	q, err := p.quorum()
	if err != nil {
		return t, err
	}
	p.waits.Store(&waitsForQuorum)
	defer p.waits.Store(nil)
	limited, cancel := context.WithTimeout(ctx, p.config.StallTimeout)
	validations, errs, done := p.listen(limited)
	defer done()
	defer cancel()
	for validation := range validations {
		a, reached, err := q.Add(validation)
		switch {
		case trust.Final(err):
			return t, err
		case err != nil || !reached || a.Index < top: // other validations do not count
			continue
		}
		p.trustSource = a.String()
		return backfill.Trusted{Index: a.Index, Hash: a.Hash}, nil
	}
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	text := fmt.Sprintf("for %v the validators did not agree on a ledger from %d on, in the validations that the servers sent (--set patience=TIME waits longer)", p.config.StallTimeout, top)
	if best := q.Best(); best.Votes > 0 {
		text += "; the most was " + best.String()
	}
	if err := errors.Join(errs()...); err != nil {
		return t, fmt.Errorf("%s: %w", text, err)
	}
	return t, errors.New(text)
}

// listen passes on the validations that the servers send, until ctx is done. errs returns the last
// error of each server, and done waits for the listeners; the caller must call both after ctx is
// done.
func (p *pipeline) listen(ctx context.Context) (validations <-chan []byte, errs func() []error, done func()) {
	out, last := make(chan []byte), make([]error, len(p.servers))
	var listening sync.WaitGroup
	for i, s := range p.servers {
		listening.Go(func() {
			for ctx.Err() == nil {
				if err := pass(ctx, s, out); ctx.Err() == nil {
					last[i] = err
				}
				select {
				case <-time.After(redial):
				case <-ctx.Done():
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { // ends with the listeners
		defer close(ended)
		listening.Wait()
		close(out)
	}()
	return out, func() []error { return last }, func() { <-ended }
}

// redial is the wait before a broken subscription to validations is repeated.
const redial = 500 * time.Millisecond

func pass(ctx context.Context, s *rippled.Server, out chan<- []byte) error {
	for e, err := range s.Subscribe(ctx, rippled.Validations) {
		switch {
		case err != nil:
			return err
		case len(e.Validation) == 0:
			return fmt.Errorf("%s sends validations without their bytes, which a quorum needs; name a rippled that sends them", s.Name())
		}
		select {
		case out <- e.Validation:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
