package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/parts/xrpl"
	"dyno/services/ledger/backfill"
	"dyno/services/ledger/pace"
	"dyno/services/ledger/rippled"
)

// asks is how often a server is asked for its word: one that fails now and then is not left out for that.
const asks = 5

// askWithin is for how long the rest is waited for when one server has answered: one that hangs, or asked to be left
// alone, does not hold up the others.
const askWithin = 3 * time.Second

// byServers takes the hash that most of the servers that answer give to a ledger. When more than half of all agree, the
// rest is not waited for.
func (p *pipeline) byServers(ctx context.Context, index uint32) (t backfill.Trusted, err error) {
	patience, cancel := context.WithTimeoutCause(ctx, p.config.Patience, p.outOfPatience())
	defer cancel()
	answers := make(chan answer, len(p.servers))
	for _, s := range p.servers {
		go func() { // answers has room for all, and each is waited for
			h, err := p.wordOf(patience, s, index)
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
		if len(said) == 0 {
			defer time.AfterFunc(askWithin, cancel).Stop()
		}
		said = append(said, fmt.Sprintf("%s says %v", a.server, a.hash))
		if votes[a.hash]++; votes[a.hash] > votes[most] {
			most = a.hash
		}
		if 2*votes[most] > len(p.servers) {
			cancel() // who has not answered yet says so at once
		}
	}
	switch {
	case ctx.Err() != nil:
		return t, ctx.Err()
	case len(said) == 0:
		return t, fmt.Errorf("nobody says what ledger %d is: %w", index, errors.Join(errs...))
	case 2*votes[most] <= len(said):
		slices.Sort(said)
		return t, fmt.Errorf("the servers do not agree on ledger %d: %s; name what you trust with --anchor", index, strings.Join(said, "; "))
	}
	p.word = fmt.Sprintf("ledger %d is %v on the word of %d of %d servers", index, most, votes[most], len(p.servers))
	return backfill.Trusted{Index: index, Hash: most}, nil
}

// outOfPatience is why somebody is no longer waited for.
func (p *pipeline) outOfPatience() error {
	return fmt.Errorf("no answer within %v (--set patience=TIME waits longer)", p.config.Patience)
}

// answer is what a server says the hash of a ledger is.
type answer struct {
	server string
	hash   xrpl.Hash
	err    error
}

// wordOf is the hash that a server gives to a ledger.
func (p *pipeline) wordOf(ctx context.Context, s *rippled.Server, index uint32) (h xrpl.Hash, err error) {
	for try := range asks {
		select {
		case <-time.After(time.Duration(try) * 200 * time.Millisecond):
		case <-ctx.Done():
		}
		h, e := p.ask(ctx, s, index)
		switch {
		case e == nil:
			return h, nil
		case ctx.Err() == nil:
			err = e
		case err == nil:
			return h, fmt.Errorf("%s: %w", s.Name(), context.Cause(ctx))
		default:
			return h, err // it says more than that the time is over
		}
	}
	return h, err
}

// ask asks a server for a ledger's hash, once, as its budget and its troubles allow.
func (p *pipeline) ask(ctx context.Context, s *rippled.Server, index uint32) (h xrpl.Hash, err error) {
	m, err := p.pool.AcquireOf(ctx, s, index)
	switch {
	case errors.Is(err, pace.ErrNone):
		return h, err // it names the server
	case err != nil:
		return h, fmt.Errorf("%s: %w", s.Name(), err)
	}
	begin := time.Now()
	a, err := s.Header(ctx, index)
	if err != nil {
		m.Done(0, time.Since(begin), err)
		return h, err // it names the server
	}
	m.Answered(a, time.Since(begin))
	h, kind := hashOf(a, index)
	if kind != nil {
		m.Blame(kind.Error())
		p.watch.Wrong.Add(1)
		p.wrong(s.Name(), a, kind)
		return h, fmt.Errorf("%s: asked for ledger %d: %w", s.Name(), index, kind)
	}
	return h, nil
}

// hashOf is the hash of the ledger that an answer holds the header of. The error is what is wrong with the answer.
func hashOf(a *rippled.Answer, index uint32) (h xrpl.Hash, err error) {
	header, err := xrpl.ParseHeader(a.Header)
	if err != nil {
		return h, xrpl.ErrMalformed
	}
	switch h = header.Hash(); {
	case header.Index != index:
		return h, xrpl.ErrIndex
	case !a.Hash.IsZero() && a.Hash != h:
		return h, xrpl.ErrHash
	}
	return h, nil
}
