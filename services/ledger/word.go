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

// sure is by how many answers a hash must lead each other one before it is the word of a server that is not believed on one
// answer: a lone server, and servers that do not agree. Of a server that gives the same wrong hash in 30% of its answers,
// (3/7)^5, which is one in 70, has the wrong word.
const sure = 5

// errDisagree is why servers have no common word.
var errDisagree = errors.New("the servers do not agree")

// byServers takes the hash that most of the servers that answer give to a ledger. When more than half of all agree, the
// rest is not waited for; when they disagree, all are asked again, until each is sure.
func (p *pipeline) byServers(ctx context.Context, index uint32) (t backfill.Trusted, err error) {
	voters := 1
	if len(p.servers) > 1 {
		if t, voters, err = p.vote(ctx, index, 1, 1); !errors.Is(err, errDisagree) {
			return t, err
		}
	}
	t, _, err = p.vote(ctx, index, sure, voters)
	return t, err
}

// vote asks all servers for their word, and takes that of more than half of those that answer, at least voters: so a server
// that answered before and is slow now still counts. lead is by how many answers a server's hash must lead.
func (p *pipeline) vote(ctx context.Context, index uint32, lead, voters int) (t backfill.Trusted, answered int, err error) {
	patience, cancel := context.WithTimeoutCause(ctx, p.config.StallTimeout, p.outOfPatience())
	defer cancel()
	answers := make(chan answer, len(p.servers))
	for _, s := range p.servers {
		go func() { // answers has room for all, and each is waited for
			h, err := p.wordOf(patience, s, index, lead)
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
		if len(said) == 0 && lead == 1 { // servers that disagreed have until the patience ends
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
		return t, 0, ctx.Err()
	case len(said) == 0:
		return t, 0, fmt.Errorf("nobody says what ledger %d is: %w", index, errors.Join(errs...))
	case 2*votes[most] <= max(len(said), voters):
		slices.Sort(said)
		return t, len(said), fmt.Errorf("%w on ledger %d: %s; name what you trust with --anchor", errDisagree, index, strings.Join(said, "; "))
	}
	p.word = fmt.Sprintf("ledger %d is %v on the word of %d of %d servers", index, most, votes[most], len(p.servers))
	return backfill.Trusted{Index: index, Hash: most}, len(said), nil
}

// outOfPatience is why somebody is no longer waited for.
func (p *pipeline) outOfPatience() error {
	return fmt.Errorf("no answer within %v (--set patience=TIME waits longer)", p.config.StallTimeout)
}

// answer is what a server says the hash of a ledger is.
type answer struct {
	server string
	hash   xrpl.Hash
	err    error
}

// given is one answer of a server.
type given struct {
	hash   xrpl.Hash
	answer *rippled.Answer
	member *pace.Member
}

// wordOf is the hash that a server gives to a ledger more often than any other, by lead answers. It is blamed for the others.
func (p *pipeline) wordOf(ctx context.Context, s *rippled.Server, index uint32, lead int) (h xrpl.Hash, err error) {
	var all []given
	times, failed := map[xrpl.Hash]int{}, 0 // failed: in a row
	for range asks * lead {
		select {
		case <-time.After(time.Duration(failed) * 200 * time.Millisecond):
		case <-ctx.Done():
		}
		g, e := p.ask(ctx, s, index)
		switch {
		case e == nil:
			failed, all = 0, append(all, g)
			if times[g.hash]++; leads(times, g.hash, lead) {
				p.contradicted(s, all, g.hash)
				return g.hash, nil
			}
		case ctx.Err() == nil:
			if err, failed = e, failed+1; failed == asks {
				return h, err
			}
		case err == nil:
			return h, fmt.Errorf("%s: %w", s.Name(), context.Cause(ctx))
		default:
			return h, err // it says more than that the time is over
		}
	}
	if err == nil || len(times) > 1 {
		err = fmt.Errorf("%s: of %d answers for ledger %d no hash leads by %d; %d different hashes came", s.Name(), len(all), index, lead, len(times))
	}
	return h, err
}

// leads says whether a hash came more often than each other one, by lead times.
func leads(times map[xrpl.Hash]int, h xrpl.Hash, lead int) bool {
	for other, n := range times {
		if other != h && times[h]-n < lead {
			return false
		}
	}
	return times[h] >= lead
}

var errContradicted = errors.New("another hash than the same server gives to the ledger most often")

// contradicted puts the answers that are not a server's word to its account.
func (p *pipeline) contradicted(s *rippled.Server, all []given, word xrpl.Hash) {
	for _, g := range all {
		if g.hash != word {
			p.blame(s, g.member, g.answer, errContradicted)
		}
	}
}

// blame puts an answer to the account of the server that gave it.
func (p *pipeline) blame(s *rippled.Server, m *pace.Member, a *rippled.Answer, why error) {
	m.RecordFault(why.Error())
	p.watch.Wrong.Add(1)
	p.wrong(s.Name(), a, why)
}

// ask asks a server for a ledger's hash, once, as its budget and its troubles allow.
func (p *pipeline) ask(ctx context.Context, s *rippled.Server, index uint32) (g given, err error) {
	m, err := p.pool.AcquireOf(ctx, s, index)
	switch {
	case errors.Is(err, pace.ErrNoServer):
		return g, err // it names the server
	case err != nil:
		return g, fmt.Errorf("%s: %w", s.Name(), err)
	}
	begin := time.Now()
	a, err := s.Header(ctx, index)
	if err != nil {
		m.Done(0, time.Since(begin), err)
		return g, err // it names the server
	}
	m.Answered(a, time.Since(begin))
	h, kind := hashOf(a, index)
	if kind != nil {
		p.blame(s, m, a, kind)
		return g, fmt.Errorf("%s: asked for ledger %d: %w", s.Name(), index, kind)
	}
	return given{h, a, m}, nil
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
