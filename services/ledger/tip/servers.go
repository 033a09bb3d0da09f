package tip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
)

// asks is the number of requests for a hash: a server that sometimes fails is not excluded.
const asks = 5

// askWithin is the longest wait for the other servers after the first answer: a server that hangs,
// or has sent a Retry-After, does not delay the others.
const askWithin = 3 * time.Second

// sure is the number of answers by which a hash must lead every other one if a single answer is not
// believed: for a single server, and for servers that do not agree. If a server gives the same
// wrong hash in 30% of its answers, the wrong hash wins with (3/7)^5, one in 70.
const sure = 5

// ByServers returns the hash that most of the answering servers give for a ledger. Its votes are
// those of servers. When more than half of all agree, it does not wait for the rest; when they
// disagree, all are asked again, until each is sure.
func (f *AnchorFinder) ByServers(ctx context.Context, index uint32) (t trust.Anchor, err error) {
	voters := 1
	if len(f.Servers) > 1 {
		if t, voters, err = f.vote(ctx, index, 1, 1); !errors.Is(err, ErrDisagree) {
			return t, err
		}
	}
	t, _, err = f.vote(ctx, index, sure, voters)
	return t, err
}

// vote asks all servers for the hash of a ledger, and returns the one of more than half of those
// that answer, and of more than half of voters: so a server that answered in an earlier vote and is
// slow now still counts. lead is the number of answers by which a server's hash must lead.
func (f *AnchorFinder) vote(ctx context.Context, index uint32, lead, voters int) (t trust.Anchor, answered int, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, f.Timeout, f.Stalled())
	defer cancel()
	answers := make(chan answer, len(f.Servers))
	for _, s := range f.Servers {
		go func() { // answers has room for all, and the loop below receives each
			h, err := f.hashFrom(limited, s, index, lead)
			answers <- answer{s.Name(), h, err}
		}()
	}
	votes, most := map[xrpl.Hash]int{}, xrpl.Hash{}
	var said []string
	var errs []error
	for range f.Servers {
		a := <-answers
		if a.err != nil {
			errs = append(errs, a.err)
			continue
		}
		if len(said) == 0 && lead == 1 { // servers that disagreed have until the time limit
			defer time.AfterFunc(askWithin, cancel).Stop()
		}
		said = append(said, fmt.Sprintf("%s says %v", a.server, a.hash))
		if votes[a.hash]++; votes[a.hash] > votes[most] {
			most = a.hash
		}
		if 2*votes[most] > len(f.Servers) {
			cancel() // the remaining servers fail immediately
		}
	}
	switch {
	case ctx.Err() != nil:
		return t, 0, ctx.Err()
	case len(said) == 0:
		return t, 0, fmt.Errorf("no server gives the hash of ledger %d: %w", index, errors.Join(errs...))
	case 2*votes[most] <= max(len(said), voters):
		slices.Sort(said)
		return t, len(said), fmt.Errorf("%w on ledger %d: %s", ErrDisagree, index, strings.Join(said, "; "))
	}
	return trust.Anchor{Index: index, Hash: most, Votes: votes[most], Of: len(f.Servers)}, len(said), nil
}

type answer struct {
	server string
	hash   xrpl.Hash
	err    error
}

type given struct {
	hash   xrpl.Hash
	answer *response.Answer
	member *servers.Member
}

// hashFrom is the hash that a server gives for a ledger more often than any other, by lead answers.
// The other answers are recorded as faults.
func (f *AnchorFinder) hashFrom(ctx context.Context, s *servers.Server, index uint32, lead int) (h xrpl.Hash, err error) {
	var all []given
	times, failed := map[xrpl.Hash]int{}, 0 // failed: in a row
	for range asks * lead {
		select {
		case <-time.After(time.Duration(failed) * 200 * time.Millisecond):
		case <-ctx.Done():
		}
		g, e := f.ask(ctx, s, index)
		switch {
		case e == nil:
			failed, all = 0, append(all, g)
			if times[g.hash]++; leads(times, g.hash, lead) {
				f.recordContradictions(all, g.hash)
				return g.hash, nil
			}
		case ctx.Err() == nil:
			if err, failed = e, failed+1; failed == asks {
				return h, err
			}
		case err == nil:
			return h, fmt.Errorf("%s: %w", s.Name(), context.Cause(ctx))
		default:
			return h, err // more useful than the time limit's error
		}
	}
	if err == nil || len(times) > 1 {
		err = fmt.Errorf("%s: of %d answers for ledger %d no hash leads by %d; there are %d different hashes", s.Name(), len(all), index, lead, len(times))
	}
	return h, err
}

// leads says whether a hash has lead more answers than every other one.
func leads(times map[xrpl.Hash]int, h xrpl.Hash, lead int) bool {
	for other, n := range times {
		if other != h && times[h]-n < lead {
			return false
		}
	}
	return times[h] >= lead
}

// recordContradictions records a fault for each answer that differs from the most frequent one.
func (f *AnchorFinder) recordContradictions(all []given, most xrpl.Hash) {
	for _, g := range all {
		if g.hash != most {
			f.recordFault(g.member, g.answer, ErrContradiction)
		}
	}
}

func (f *AnchorFinder) recordFault(m *servers.Member, a *response.Answer, why error) {
	m.RecordFault(why.Error())
	f.Wrong(m.Name(), a, why)
}

// ask requests a ledger's hash from a server, which, if it does not find the ledger, may know the
// hash from the ledger above.
func (f *AnchorFinder) ask(ctx context.Context, s *servers.Server, index uint32) (given, error) {
	g, header, err := f.header(ctx, s, index)
	g.hash = header.Hash()
	if response.CodeOf(err) == response.NotFound || errors.Is(err, servers.ErrNoServer) {
		if above, header, e := f.header(ctx, s, index+1); e == nil {
			above.hash = header.Parent
			return above, nil
		}
	}
	return g, err
}

// header requests a ledger's header from a server once, within its budget and cooldown.
func (f *AnchorFinder) header(ctx context.Context, s *servers.Server, index uint32) (g given, h xrpl.Header, err error) {
	m, err := f.Pool.AcquireOf(ctx, s, index)
	switch {
	case errors.Is(err, servers.ErrNoServer):
		return g, h, err // it names the server
	case err != nil:
		return g, h, fmt.Errorf("%s: %w", s.Name(), err)
	}
	begin, a := time.Now(), new(response.Answer)
	if err := s.Header(ctx, index, a); err != nil {
		m.Done(0, time.Since(begin), err)
		return g, h, err // it names the server
	}
	m.Answered(a, time.Since(begin))
	h, kind := headerOf(a, index)
	if kind != nil {
		f.recordFault(m, a, kind)
		return g, h, fmt.Errorf("%s: asked for ledger %d: %w", s.Name(), index, kind)
	}
	return given{answer: a, member: m}, h, nil
}

// headerOf is the header in an answer. The error says what is wrong with the answer.
func headerOf(a *response.Answer, index uint32) (h xrpl.Header, err error) {
	if h, err = xrpl.ParseHeader(a.Header); err != nil {
		return h, xrpl.ErrMalformed
	}
	switch {
	case h.Index != index:
		return h, xrpl.ErrIndex
	case !a.Hash.IsZero() && a.Hash != h.Hash():
		return h, xrpl.ErrHash
	}
	return h, nil
}
