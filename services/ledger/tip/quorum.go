package tip

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/trust"
)

// ByQuorum waits until the validators of a list agree on a ledger at or above top, and returns it.
func (f *AnchorFinder) ByQuorum(ctx context.Context, q *trust.Quorum, top uint32) (t trust.Anchor, err error) {
	limited, cancel := context.WithTimeout(ctx, f.Timeout)
	validations, errs, done := f.listen(limited)
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
		return a, nil
	}
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	text := fmt.Sprintf("for %v the validators did not agree on a ledger from %d on, in the validations that the servers sent%s", f.Timeout, top, f.Hint)
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
func (f *AnchorFinder) listen(ctx context.Context) (validations <-chan []byte, errs func() []error, done func()) {
	out, last := make(chan []byte), make([]error, len(f.Servers))
	var listening sync.WaitGroup
	for i, s := range f.Servers {
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

func pass(ctx context.Context, s *servers.Server, out chan<- []byte) error {
	for e, err := range s.Subscribe(ctx, response.Validations) {
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
