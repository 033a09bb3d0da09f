package pace

import (
	"context"
	"errors"
	"time"

	"dyno/services/ledger/rippled"
)

// Member is a server for one request.
type Member struct {
	pool   *Pool
	server *server
	index  uint32
	size   float64 // bytes that were taken of its budget
	done   bool
	stage  stage
}

// stage is how far an answer is proved. Much later than that it is right in itself, for which others need not be there, it
// is known to be the ledger that the one above names; so wrong answers in a row are counted by stage.
type stage uint8

const (
	unproved stage = iota
	inItself
	linked
)

// Earlier is the server of an answer that came before there was this pool, to be blamed for it: one of the pool's, if it is
// there, or one that is never asked.
func (p *Pool) Earlier(name string) *Member {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		if s.name == name {
			return &Member{pool: p, server: s, done: true}
		}
	}
	return &Member{pool: p, server: newServer(gone(name), 0), done: true}
}

// gone is a server that is not asked any more.
type gone string

func (g gone) Name() string                             { return string(g) }
func (gone) InFlight() int                              { return 0 }
func (gone) Info(context.Context) (rippled.Info, error) { return rippled.Info{}, ErrNone }

// Server is whom to ask.
func (m *Member) Server() *rippled.Server {
	s, _ := m.server.source.(*rippled.Server)
	return s
}

// Latency is the average of how long the server's last good answers took; it begins at 0.
func (m *Member) Latency() time.Duration {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return time.Duration(m.server.took * float64(time.Second))
}

// Name is the server's.
func (m *Member) Name() string { return m.server.name }

// Done says how the request ended: so many bytes came, after so long; err is that of a rippled.Server, or of a context
// that was cancelled, which says nothing of the server. Only the first call counts.
func (m *Member) Done(bytes int, took time.Duration, err error) { m.finish(bytes, took, false, err) }

// Answered is Done for a whole answer, and takes its warning into account.
func (m *Member) Answered(a *rippled.Answer, took time.Duration) {
	m.finish(a.Bytes, took, a.Warned, nil)
}

func (m *Member) finish(bytes int, took time.Duration, warned bool, err error) {
	p, s := m.pool, m.server
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.done {
		return
	}
	m.done = true
	now := time.Now()
	s.inFlight--
	s.standing.Requests++
	s.standing.Bytes += uint64(max(bytes, 0))
	s.bytes.Take(now, float64(bytes)-m.size)
	var t *rippled.Trouble
	switch {
	case err == nil:
		s.good(now, bytes, took, warned)
	case errors.As(err, &t):
		s.bad(now, m.index, t.Kind, t.RetryAfter)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		s.bad(now, m.index, rippled.Gone, 0)
	}
	p.dispatch(now)
}

// giveBack is for a request that is not sent.
func (m *Member) giveBack(now time.Time) {
	m.done = true
	m.server.inFlight--
	m.server.requests.Take(now, -1)
	m.server.bytes.Take(now, -m.size)
}

// Proved says that the answer is right in itself.
func (m *Member) Proved() { m.reach(inItself) }

// Linked says that the answer is the ledger that the one above names.
func (m *Member) Linked() { m.reach(linked) }

func (m *Member) reach(s stage) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.stage = s
	m.server.lies[s-1] = 0
}

// Blame says that the answer was wrong. It may come long after Done. Reasons should be few: they are counted each.
func (m *Member) Blame(reason string) {
	p := m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	m.server.blame(now, reason, min(m.stage, inItself))
	p.dispatch(now)
}
