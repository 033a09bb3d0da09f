package servers

import (
	"context"
	"errors"
	"time"

	"dyno/services/ledger/servers/response"
)

// Member is the permission to send one request to a server.
type Member struct {
	pool   *Pool
	server *server
	index  uint32
	size   float64 // bytes deducted from its budget
	taken  time.Time
	done   bool
	stage  stage
}

// stage is how far an answer is proved. The check of the answer alone comes much earlier than that
// against the ledger above, so wrong answers in a row are counted by stage.
type stage uint8

const (
	unproved stage = iota
	inItself
	linked
)

// Earlier returns a Member to record faults of an answer that an earlier process received: of the
// pool's server with that name, or of one that is never asked.
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

// gone is a server that the pool no longer has.
type gone string

func (g gone) Name() string                              { return string(g) }
func (gone) InFlight() int                               { return 0 }
func (gone) Info(context.Context) (response.Info, error) { return response.Info{}, ErrNoServer }

// Server is the server to send the request to.
func (m *Member) Server() *Server {
	s, _ := m.server.source.(*Server)
	return s
}

// Latency is the moving average of the time that the server's good answers took; it starts at 0.
func (m *Member) Latency() time.Duration {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return time.Duration(m.server.latency * float64(time.Second))
}

// Name is the server's name.
func (m *Member) Name() string { return m.server.name }

// Done reports how the request ended, with the number of bytes received and the duration. err is
// that of a Server; a cancelled context does not count against the server. Only the first
// call counts.
func (m *Member) Done(bytes int, took time.Duration, err error) { m.finish(bytes, took, false, err) }

// Answered is Done for a whole answer; it also evaluates the answer's warning.
func (m *Member) Answered(a *response.Answer, took time.Duration) {
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
	s.stats.Requests++
	s.stats.Bytes += uint64(max(bytes, 0))
	s.bytes.Take(now, float64(bytes)-m.size)
	var t *response.Error
	switch {
	case err == nil:
		s.success(now, bytes, took, warned)
	case errors.As(err, &t):
		s.failure(now, m, t.Code, t.RetryAfter)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		s.failure(now, m, response.Gone, 0)
	}
	p.dispatch(now)
}

// refund returns the budget of a request that is not sent.
func (m *Member) refund(now time.Time) {
	m.done = true
	m.server.inFlight--
	m.server.requests.Take(now, -1)
	m.server.bytes.Take(now, -m.size)
}

// Proved reports that the answer is consistent in itself.
func (m *Member) Proved() { m.reach(inItself) }

// Linked reports that the answer is the ledger that the one above names.
func (m *Member) Linked() { m.reach(linked) }

func (m *Member) reach(s stage) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	m.stage = s
	m.server.faultRow[s-1] = 0
}

// RecordFault reports a wrong answer. It may be called long after Done. Each reason has its own
// count, so callers should use few.
func (m *Member) RecordFault(reason string) {
	p := m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	m.server.recordFault(now, reason, min(m.stage, inItself))
	p.dispatch(now)
}
