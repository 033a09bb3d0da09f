package http1

import (
	"context"
	"math"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/load"
	"dyno/lab/load/http1/wire"
	"dyno/lab/record"
)

const (
	never = math.MaxInt64 // an instant after all others
	// tick is the interval of the work that can wait: closing windows, recording CPU time,
	// checking the context.
	tick = int64(record.WindowLength)
	// expiryGrain is the shortest time between two searches for requests that have timed out.
	expiryGrain = int64(time.Millisecond)
)

// backend is a sender's interface to the kernel. It calls the sender's onConnected, onRefused,
// onReceived and onClosed, but never from within connect, send or close, and only for a
// connection's current socket.
type backend interface {
	connect(c *conn)        // begins a handshake
	send(c *conn, b []byte) // b may change as soon as send has returned
	close(c *conn)
	wait(until int64) // handles events; returns at the given instant at the latest
	end()
}

// sender is one sending thread with its connections.
type sender struct {
	driver   *Driver
	plan     *load.Plan
	rec      *load.Recorder
	shard    *load.Shard
	requests []wire.Request
	known    wire.KnownHead
	back     backend
	depth    int // requests that may be in flight on one connection

	conns      []conn
	idle       fifo[int32] // connections that can take a request; some may have gone down since they were queued
	queue      fifo[due]   // requests that wait for a connection
	inFlight   int
	connected  int // connections that are up
	connecting int // connections whose handshake is in progress

	now        int64 // the instant the last wait returned
	latest     int64 // the clock's last reading
	wake       int64 // until this instant only events from the kernel need handling
	started    bool
	partial    bool  // an answer of which more must arrive was received since the last wait
	sending    bool  // the closed model makes new requests
	left       int64 // requests that the closed model may still make
	schedule   load.Schedule
	arrival    int64 // the next intended time
	deadline   int64 // no request or handshake times out before this instant
	ticked     int64 // the instant of the next tick
	redial     bool  // some connection is down
	completion load.Completion
}

// run carries out the sender's part of the plan.
func (s *sender) run(ctx context.Context) {
	defer s.stop()
	s.arrival, s.deadline, s.redial = s.pull(), never, true
	for s.now = s.clock(); ; {
		if s.now >= s.wake && s.housekeep(ctx) {
			return
		}
		s.back.wait(s.wake)
	}
}

// clock reads the clock, and stores the reading for code that needs no newer one.
func (s *sender) clock() int64 {
	s.latest = monotonic.Now()
	return s.latest
}

// housekeep does the work that is due and sets the instant of its next call.
func (s *sender) housekeep(ctx context.Context) (finished bool) {
	now := s.now
	if !s.started && now >= s.plan.Start {
		s.started = true
		if s.sending = !s.plan.Open() && s.left > 0; s.sending {
			for i := range s.conns {
				s.conns[i].pending = s.depth
				s.refill(&s.conns[i])
			}
		}
	}
	for s.arrival <= now {
		s.issue(s.arrival, s.arrival)
		s.arrival = s.pull()
	}
	over := now >= s.plan.SendUntil() || s.started && s.left == 0
	if over {
		s.sending = false
		if s.queue.len == 0 && s.inFlight == 0 || now >= s.plan.DrainUntil() {
			return true
		}
	}
	if now >= s.deadline {
		s.expire()
	}
	retry := int64(never)
	if s.redial {
		retry = s.reconnect()
	}
	if now >= s.ticked {
		s.shard.Advance(now)
		s.shard.ThreadCPU(threadCPU())
		s.ticked = now/tick*tick + tick
		if ctx.Err() != nil {
			return true
		}
	}
	s.wake = min(s.arrival, s.deadline, retry, s.ticked)
	if over {
		s.wake = min(s.wake, s.plan.DrainUntil())
		if s.queue.len == 0 && s.inFlight == 0 {
			s.wake = now // expire has just ended the last request
		}
	} else {
		s.wake = min(s.wake, s.plan.SendUntil())
	}
	if !s.started {
		s.wake = min(s.wake, s.plan.Start)
	}
	return false
}

// pull returns the next intended time on the monotonic clock.
func (s *sender) pull() int64 {
	if s.schedule == nil {
		return never
	}
	at, ok := s.schedule()
	if at += s.plan.Start; !ok || at >= s.plan.SendUntil() {
		s.schedule = nil
		return never
	}
	return at
}

// arrive creates a request. ok is false if each request may be sent only once and all were: the
// load then ends as soon as no request is in flight.
func (s *sender) arrive(intended int64) (d due, ok bool) {
	requests := s.driver.config.Corpus
	if requests.Supply == nil {
		seq := s.shard.Arrive(intended)
		return due{seq: seq, intended: intended, index: int(seq % uint64(len(s.requests)))}, true
	}
	index, ok := requests.Take()
	if !ok {
		s.rec.UsedUp()
		s.left, s.sending, s.schedule, s.wake = 0, false, nil, 0
		return due{}, false
	}
	return due{seq: s.shard.Arrive(intended), intended: intended, index: index}, true
}

// issue creates a request and sends it, or queues it until a connection is free.
func (s *sender) issue(intended, could int64) {
	d, ok := s.arrive(intended)
	if !ok {
		return
	}
	if s.queue.len == 0 {
		if c := s.takeIdle(); c != nil {
			s.send(c, d, s.clock(), max(could, c.freeAt))
			return
		}
	}
	s.queue.push(d)
	s.expectBy(intended)
}

// refill creates the requests that a connection still has to make; any connection may send them.
func (s *sender) refill(c *conn) {
	for ; c.pending > 0 && s.sending; c.pending-- {
		now := s.clock()
		s.spend()
		s.issue(now, now)
	}
}

// spend takes one from the number of requests that the closed model may still make.
func (s *sender) spend() {
	if s.left--; s.left == 0 {
		s.sending = false
	}
}

// takeIdle returns the connection that has been idle longest, so that load spreads over all of
// them.
func (s *sender) takeIdle() *conn {
	for s.idle.len > 0 {
		c := &s.conns[s.idle.pop()]
		c.idle = false
		if c.state == up && c.count < s.depth {
			return c
		}
	}
	return nil
}

// send sends a request at the instant at; could is the instant since which it could have been
// sent.
func (s *sender) send(c *conn, d due, at, could int64) {
	req := &s.requests[d.index]
	req.Number(d.seq)
	c.push(flight{due: d, sent: at, req: req})
	c.failures = 0
	s.inFlight++
	s.shard.Sent(d.intended, at, at-could)
	s.expectBy(d.intended)
	s.back.send(c, req.Bytes)
	if c.count < s.depth {
		s.markIdle(c)
	}
}

// markIdle makes a connection available.
func (s *sender) markIdle(c *conn) {
	if !c.idle {
		c.idle = true
		s.idle.push(c.index)
	}
}

// fill sends requests on a connection as long as it can take more. In the closed model the
// requests that replace its answered ones come first, so that each connection keeps its share of
// the load; then come queued requests.
func (s *sender) fill(c *conn) {
	for c.count < s.depth {
		switch {
		case c.pending > 0 && s.sending:
			now := s.clock()
			if s.sending = now < s.plan.SendUntil(); !s.sending {
				continue
			}
			c.pending--
			s.spend()
			if d, ok := s.arrive(now); ok {
				s.send(c, d, now, c.freeAt)
			}
		case s.queue.len > 0:
			d := s.queue.pop()
			s.send(c, d, s.clock(), max(d.intended, c.freeAt))
		default:
			s.markIdle(c)
			if s.inFlight == 0 {
				s.wake = 0 // this may have been the last request in flight
			}
			return
		}
	}
}

// stop reports unfinished requests and closes everything.
func (s *sender) stop() {
	now := s.clock()
	for s.queue.len > 0 {
		d := s.queue.pop()
		s.shard.Unfinished(d.intended, now, s.classOf(d))
	}
	for i := range s.conns {
		c := &s.conns[i]
		for ; c.count > 0; c.pop() {
			s.shard.Unfinished(c.oldest().intended, now, c.oldest().req.Class)
		}
		if c.state != down {
			s.back.close(c)
		}
	}
	s.back.end()
}

func (s *sender) classOf(d due) uint8 { return s.requests[d.index].Class }
