package sessions

import (
	"context"
	"math"
	"sync"

	"dyno/agent/monotonic"
	"dyno/lab/load"
)

// group holds the sessions that one goroutine sends for. Their outcomes share two shards, so that
// the recorder has few shards to merge.
type group struct {
	sessions []*session
	failures *load.Notes

	mu       sync.Mutex
	arrivals *load.Shard // guarded by mu; its windows advance with the schedule; nil: the recording has not begun
	outcomes *load.Shard // guarded by mu; its windows advance with the clock
	next     int64       // guarded by mu: the earliest instant of the next message
	from     int64       // the measured time
	until    int64
	waiting  int  // guarded by mu: pending messages of all sessions
	ended    bool // guarded by mu: nothing is recorded any more
}

type session struct {
	group    *group
	conn     Session // nil: it could not be opened
	end      context.CancelFunc
	opening  int64       // time that opening took, ns
	unopened load.Status // why it could not be opened

	// The rest is guarded by group.mu.
	lost   bool
	made   uint64 // messages so far
	frames int64  // received in the measured time
	due    []message
}

// message is a message that was made and not yet acknowledged.
type message struct {
	number         uint64 // in its session
	seq            uint64 // in the run
	intended, sent int64
}

// begin starts the recording.
func (g *group) begin(plan *load.Plan, arrivals, outcomes *load.Shard) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.arrivals, g.outcomes, g.next = arrivals, outcomes, plan.Start
	g.from, g.until = plan.MeasureFrom(), plan.SendUntil()
	now := monotonic.Now()
	for _, s := range g.sessions {
		if s.conn != nil {
			outcomes.Opened(s.opening)
		}
		if s.lost {
			outcomes.LostSession(now)
		}
	}
}

// awaits sets the earliest instant of the next message.
func (g *group) awaits(at int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = at
}

// send makes a session's message and sends it. If ctx is done, the sender is so late that the run
// is over: the message then stays unsent and unfinished.
func (g *group) send(ctx context.Context, s *session, intended int64) {
	number, ok := g.arrive(s, intended, ctx.Err() == nil)
	if !ok {
		return
	}
	if err := s.conn.Send(ctx, number); err != nil && ctx.Err() == nil {
		g.lose(s, err)
	}
}

// arrive registers a message that is due. It returns false if the message cannot be sent: the run
// is over, or the session was lost or never opened, in which case the message has failed.
func (g *group) arrive(s *session, intended int64, inTime bool) (number uint64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s.made++
	o := message{number: s.made, seq: g.arrivals.Arrive(intended), intended: intended}
	switch {
	case s.conn == nil:
		g.fail(&o, s.unopened, monotonic.Now())
		return 0, false
	case s.lost:
		g.fail(&o, load.Lost, monotonic.Now())
		return 0, false
	}
	if inTime {
		o.sent = monotonic.Now()
		g.outcomes.Sent(intended, o.sent, o.sent-intended)
	}
	s.due = append(s.due, o)
	g.waiting++
	return o.number, inTime
}

func (g *group) fail(o *message, status load.Status, now int64) {
	g.outcomes.Done(&load.Completion{Seq: o.seq, Intended: o.intended, Sent: o.sent, Done: now, Status: status})
}

// lose ends a session whose connection failed; its pending messages fail.
func (g *group) lose(s *session, why error) {
	s.end()
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.lost || g.ended {
		return
	}
	s.lost = true
	g.failures.Add("lost sessions", why)
	if g.outcomes == nil {
		return // begin reports it
	}
	now := monotonic.Now()
	g.outcomes.LostSession(now)
	for i := range s.due {
		g.fail(&s.due[i], load.Lost, now)
	}
	g.waiting -= len(s.due)
	s.due = nil
}

// receive receives until the session is lost or the run ends.
func (s *session) receive(ctx context.Context) {
	for {
		r, err := s.conn.Receive(ctx)
		if r != (Received{}) {
			s.group.received(s, r)
		}
		if err != nil {
			s.group.lose(s, err)
			return
		}
	}
}

func (g *group) received(s *session, r Received) {
	now := monotonic.Now() // read before the lock is taken: waiting for the lock is not the server's delay
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.outcomes == nil || g.ended {
		return
	}
	g.outcomes.Received(now, r.Frames, r.Bytes)
	if g.from <= now && now < g.until {
		s.frames += int64(r.Frames)
	}
	n := 0
	for n < len(s.due) && s.due[n].number <= r.Acked {
		o := &s.due[n]
		g.outcomes.Done(&load.Completion{Seq: o.seq, Intended: o.intended, Sent: o.sent, Done: now, Status: load.OK, Success: true})
		n++
	}
	g.drop(s, n)
}

// drop removes the first n pending messages of a session.
func (g *group) drop(s *session, n int) {
	g.waiting -= n
	s.due = s.due[:copy(s.due, s.due[n:])]
}

// turn advances the windows to the present, and ends the messages that are older than the
// timeout.
func (g *group) turn(timeout int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := monotonic.Now()
	g.arrivals.Advance(min(now, g.next))
	g.outcomes.Advance(now)
	for _, s := range g.sessions {
		n := 0
		for n < len(s.due) && now-s.due[n].intended > timeout {
			g.fail(&s.due[n], load.Timeout, s.due[n].intended+timeout)
			n++
		}
		g.drop(s, n)
	}
}

func (g *group) pending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting > 0
}

// finish ends the recording: pending messages become unfinished, and each session reports the
// mean gap between its frames.
func (g *group) finish(plan *load.Plan) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	now := monotonic.Now()
	measured := min(now, g.until) - g.from
	for _, s := range g.sessions {
		for i := range s.due {
			g.outcomes.Unfinished(s.due[i].intended, now, 0)
		}
		gap := int64(math.MaxInt64)
		if s.frames > 0 {
			gap = max(measured, 1) / s.frames
		}
		g.outcomes.Gap(gap)
	}
}
