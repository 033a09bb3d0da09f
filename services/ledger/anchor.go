package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dyno/parts/xrpl"
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
	patience, cancel := context.WithTimeout(ctx, p.config.Patience)
	validations, errs, done := p.listen(patience)
	defer done()
	defer cancel()
	for validation := range validations {
		a, reached, err := q.Add(validation)
		switch {
		case errors.Is(err, trust.ErrConflict):
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
	text := fmt.Sprintf("for %v the validators did not agree on a ledger from %d on, as far as the servers say (--set patience=TIME waits longer)", p.config.Patience, top)
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

// byServers takes the hash that most of the servers that answer give to a ledger. When more than half of all agree, the
// rest is not waited for.
func (p *pipeline) byServers(ctx context.Context, index uint32) (t backfill.Trusted, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(p.servers))
	for _, s := range p.servers {
		go func() { // answers has room for all, and none is longer than it takes
			h, err := wordOf(ctx, s, index)
			answers <- answer{s.Name(), h, err}
		}()
	}
	votes, most := map[xrpl.Hash]int{}, xrpl.Hash{}
	var said []string
	var errs []error
	for range p.servers {
		a := <-answers
		if a.err != nil {
			errs = append(errs, a.err)
			continue
		}
		said = append(said, fmt.Sprintf("%s says %v", a.server, a.hash))
		if votes[a.hash]++; votes[a.hash] > votes[most] {
			most = a.hash
		}
		if 2*votes[most] > len(p.servers) {
			cancel() // who has not answered yet says so at once, and is waited for
		}
	}
	switch {
	case len(said) == 0:
		return t, fmt.Errorf("nobody says what ledger %d is: %w", index, errors.Join(errs...))
	case 2*votes[most] <= len(said):
		slices.Sort(said)
		return t, fmt.Errorf("the servers do not agree on ledger %d: %s; name what you trust with --anchor", index, strings.Join(said, "; "))
	}
	p.word = fmt.Sprintf("ledger %d is %v on the word of %d of %d servers", index, most, votes[most], len(p.servers))
	return backfill.Trusted{Index: index, Hash: most}, nil
}

// answer is what a server says the hash of a ledger is.
type answer struct {
	server string
	hash   xrpl.Hash
	err    error
}

// A server is asked for its word this often, and each time waited for so long: one that fails now and then is not left
// out for that, and one that hangs does not hold up the rest for long.
const (
	asks      = 5
	askWithin = 3 * time.Second
)

// wordOf is the hash that a server gives to a ledger.
func wordOf(ctx context.Context, s *rippled.Server, index uint32) (h xrpl.Hash, err error) {
	for try := range asks {
		if try > 0 {
			select {
			case <-time.After(time.Duration(try) * 200 * time.Millisecond):
			case <-ctx.Done():
				return h, ctx.Err()
			}
		}
		if h, err = askOnce(ctx, s, index); err == nil || ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
			return h, err
		}
	}
	return h, err
}

func askOnce(ctx context.Context, s *rippled.Server, index uint32) (xrpl.Hash, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	a, err := s.Header(ctx, index)
	if err != nil {
		return xrpl.Hash{}, fmt.Errorf("%s: %w", s.Name(), err)
	}
	header, err := xrpl.ParseHeader(a.Header)
	if err != nil {
		return xrpl.Hash{}, fmt.Errorf("%s: %w", s.Name(), err)
	}
	h := header.Hash()
	if header.Index != index || !a.Hash.IsZero() && a.Hash != h {
		return h, fmt.Errorf("%s: asked for ledger %d, the answer is not one that fits in itself", s.Name(), index)
	}
	return h, nil
}
