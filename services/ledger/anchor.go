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

// anchor finds the hash that the range is proved from, and notes on whose word it stands.
func (p *pipeline) anchor(ctx context.Context) (t backfill.Trusted, err error) {
	if p.config.Level < trust.L2 {
		p.word = "nothing is linked at " + p.request.level
		return t, nil
	}
	t, ok, err := p.request.named()
	switch {
	case err != nil:
		return t, err
	case ok:
		p.word = fmt.Sprintf("ledger %d is %v on your word", t.Index, t.Hash)
		return t, nil
	case p.request.anchor == quorum:
		return p.byQuorum(ctx, p.request.to)
	}
	return p.byServers(ctx, p.request.to)
}

var waitsForQuorum = "waiting for the validators to agree on a ledger"

// byQuorum waits until the validators that are trusted agree on a ledger at or above the range.
func (p *pipeline) byQuorum(ctx context.Context, top uint32) (t backfill.Trusted, err error) {
	q, err := p.quorum()
	if err != nil {
		return t, err
	}
	p.waits.Store(&waitsForQuorum)
	defer p.waits.Store(nil)
	patience, cancel := context.WithTimeout(ctx, p.config.StallTimeout)
	validations, errs, done := p.listen(patience)
	defer done()
	defer cancel()
	for validation := range validations {
		a, reached, err := q.Add(validation)
		switch {
		case trust.Final(err):
			return t, err
		case err != nil || !reached || a.Index < top: // what is not a validation of theirs counts for nothing
			continue
		}
		p.word = a.String()
		return backfill.Trusted{Index: a.Index, Hash: a.Hash}, nil
	}
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	text := fmt.Sprintf("for %v the validators did not agree on a ledger from %d on, as far as the servers say (--set patience=TIME waits longer)", p.config.StallTimeout, top)
	if best := q.Best(); best.Votes > 0 {
		text += "; the most was " + best.String()
	}
	if err := errors.Join(errs()...); err != nil {
		return t, fmt.Errorf("%s: %w", text, err)
	}
	return t, errors.New(text)
}

// listen passes on the validations that the servers tell of, until ctx is done. Errs are the last ones of the servers, and
// done waits for the listeners; both are to be called after that.
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

// redial is how long to wait before a server that broke off is asked for validations again.
const redial = 500 * time.Millisecond

// pass passes on the validations of one connection.
func pass(ctx context.Context, s *rippled.Server, out chan<- []byte) error {
	for e, err := range s.Subscribe(ctx, rippled.Validations) {
		switch {
		case err != nil:
			return err
		case len(e.Validation) == 0:
			return fmt.Errorf("%s passes validations on without their bytes, which a quorum needs; name a rippled that gives them", s.Name())
		}
		select {
		case out <- e.Validation:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
