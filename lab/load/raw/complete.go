package raw

import (
	"time"

	"dyno/lab/load"
)

// Between two attempts to connect that come to nothing lies a pause, so that a target which is not there
// costs no CPU. A connection that carried a request is replaced immediately: then the offers set the pace.
const (
	firstPause   = int64(time.Millisecond)
	longestPause = int64(100 * time.Millisecond)
)

// received takes what a connection has read.
func (s *sender) received(c *conn, in []byte) {
	for len(in) > 0 {
		if c.count == 0 { // bytes without a request
			s.drop(c)
			return
		}
		rest, v := c.parser.feed(in, &s.known)
		switch {
		case v == incomplete:
			return
		case v == malformed, len(rest) > 0 && c.count == 1: // or more bytes than the answer has
			s.lose(c, load.Malformed)
			return
		}
		if !s.answered(c) {
			return
		}
		in = rest
	}
}

// answered ends the oldest request of a connection and reports whether the connection lives on.
func (s *sender) answered(c *conn) bool {
	f, p := c.oldest(), &c.parser
	check := &s.driver.config.Corpus.Classes[f.req.class].Check
	success, checked := check.PassStatus(p.head.status), false
	if success && f.req.content {
		success = !p.keep.overflow && check.PassContent(p.keep.header, p.keep.body)
		checked = !success
	}
	// An answer may overtake its own request. A target that means to keep the connection reads the rest.
	stays := p.persists() && !c.broken
	s.end(f, load.Status(p.head.status), success, checked)
	c.pop()
	s.inFlight--
	c.freeAt = s.now
	if s.offering {
		c.owed++
	}
	if !stays {
		s.lose(c, load.Closed)
		return false
	}
	s.fill(c)
	return true
}

// end reports how a request that was sent has ended.
func (s *sender) end(f *flight, status load.Status, success, checked bool) {
	s.outcome = load.Outcome{
		Seq: f.seq, Intended: f.intended, Sent: f.sent, Done: s.now,
		Status: status, Class: f.req.class, Success: success, Checked: checked,
	}
	s.shard.Done(&s.outcome)
}

// fail ends an offer that never was sent.
func (s *sender) fail(d due, status load.Status) {
	s.outcome = load.Outcome{Seq: d.seq, Intended: d.intended, Done: s.now, Status: status, Class: s.classOf(d.seq)}
	s.shard.Done(&s.outcome)
}

// ended takes note that a connection has ended, in good order or not.
func (s *sender) ended(c *conn, status load.Status) {
	if c.broken {
		status = c.brokenWhy
	}
	if status == load.Closed && c.count > 0 && c.parser.eof() {
		s.answered(c)
		return
	}
	s.lose(c, status)
}

// lose gives a connection up. The oldest request on it ends with the status; those behind it were closed
// upon.
func (s *sender) lose(c *conn, status load.Status) {
	for ; c.count > 0; c.pop() {
		s.end(c.oldest(), status, false, false)
		s.inFlight--
		status = load.Closed
		if s.offering {
			c.owed++
		}
	}
	s.drop(c)
}

// drop closes a connection on which nothing is under way, to be made anew.
func (s *sender) drop(c *conn) {
	if c.state == up {
		s.standing--
	} else {
		s.trying--
	}
	s.back.close(c)
	c.state = down
	c.gen++
	c.retry = s.now
	if c.failures > 0 {
		c.retry += min(firstPause<<min(c.failures-1, 10), longestPause)
	}
	c.failures++ // until a request is sent on its successor
	s.redial, s.wake = true, 0
}

// reconnect begins the handshake of every connection that is down, and returns when it wants to be
// called again.
func (s *sender) reconnect() (again int64) {
	again = never
	s.redial = false
	for i := range s.conns {
		c := &s.conns[i]
		if c.state != down {
			continue
		}
		if c.retry > s.now {
			s.redial = true
			again = min(again, c.retry)
			continue
		}
		c.state, c.since = connecting, s.now
		s.trying++
		s.pay(c)
		s.expectBy(s.now)
		s.back.connect(c)
	}
	return again
}

// connected takes note that a handshake is complete.
func (s *sender) connected(c *conn) {
	s.trying--
	s.standing++
	c.connected(s.clock())
	s.fill(c)
}

// refused takes note that a handshake came to nothing. With no other connection there or under way, what
// waits shares that fate in the open model; in the closed model a connection's own offers do.
func (s *sender) refused(c *conn, status load.Status) {
	s.drop(c)
	n := 0
	switch {
	case s.offering:
		n = min(s.depth, s.queue.len)
		c.owed += n
	case s.standing == 0 && s.trying == 0:
		n = s.queue.len
	}
	for range n {
		s.fail(s.queue.pop(), status)
	}
}

// tellFailed passes on the handshakes that failed at once, and reports whether there were any.
func (s *sender) tellFailed(tries *[]failedTry) bool {
	if len(*tries) == 0 {
		return false
	}
	s.now = s.clock()
	for _, f := range *tries {
		if c := &s.conns[f.index]; c.gen == f.gen {
			s.refused(c, f.status)
		}
	}
	*tries = (*tries)[:0]
	return true
}

// expectBy makes sure that expire is called when something that began at an instant times out.
func (s *sender) expectBy(began int64) {
	if s.plan.Timeout <= 0 {
		return
	}
	if at := began + int64(s.plan.Timeout); at < s.deadline {
		s.deadline = at
		s.wake = min(s.wake, at)
	}
}

// expire ends what has timed out.
func (s *sender) expire() {
	limit := s.now - int64(s.plan.Timeout) // what began then or before has timed out
	s.deadline = never
	for s.queue.len > 0 && s.queue.front().intended <= limit {
		s.fail(s.queue.pop(), load.Timeout)
		if s.offering {
			now := s.clock()
			s.spend()
			s.issue(now, now)
		}
	}
	if s.queue.len > 0 {
		s.expectBy(s.queue.front().intended)
	}
	for i := range s.conns {
		c := &s.conns[i]
		switch {
		case c.state == connecting && c.since <= limit:
			s.drop(c) // the offers that wait are younger, or have timed out above
		case c.state == connecting:
			s.expectBy(c.since)
		case c.count > 0 && c.oldest().intended <= limit:
			s.lose(c, load.Timeout)
		case c.count > 0:
			s.expectBy(c.oldest().intended)
		}
	}
	if s.deadline != never {
		s.deadline = max(s.deadline, s.now+expiryGrain)
	}
}
