package http1

import (
	"time"

	"dyno/lab/load"
	"dyno/lab/load/http1/wire"
)

// Pauses between failed attempts to connect, so that a target that is down costs no CPU. A
// connection that carried a request is replaced without a pause: its requests then limit the rate
// of attempts.
const (
	firstPause   = int64(time.Millisecond)
	longestPause = int64(100 * time.Millisecond)
)

// onReceived processes bytes that arrived on a connection at an instant.
func (s *sender) onReceived(c *conn, in []byte, at int64) {
	for len(in) > 0 {
		if c.count == 0 { // the target sent bytes although no request is in flight
			s.closeConn(c)
			return
		}
		rest, v := c.parser.Feed(in, &s.known)
		switch {
		case v == wire.Incomplete:
			s.partial = true
			return
		case v == wire.Malformed, len(rest) > 0 && c.count == 1: // or the target sent more bytes than the only request's answer has
			s.failConn(c, load.Malformed)
			return
		}
		if !s.answered(c, at) {
			return
		}
		in = rest
	}
}

// answered completes the oldest request of a connection, whose answer arrived at an instant, and
// reports whether the connection stays open.
func (s *sender) answered(c *conn, at int64) bool {
	f, p := c.oldest(), &c.parser
	status := p.Status()
	requests := s.driver.config.Corpus
	check := &requests.Classes[f.req.Class].Check
	success, failed := check.PassStatus(status), 0
	if !success {
		s.driver.refused.Add(status, p.Location(), p.Excerpt())
	}
	if success && f.req.Content {
		failed = requests.Units
		if header, body, whole := p.Content(); whole {
			if failed = check.Failures(header, body, requests.Units); failed > 0 {
				s.driver.refused.Add(status, "", body)
			}
			if requests.Accepted != nil && failed < requests.Units {
				requests.Accepted(f.seq, body)
			}
		}
		success = failed == 0
	}
	// A target may answer before it has received the whole request. If it then keeps the
	// connection open, it reads the rest of the request.
	stays := p.Persists() && !c.broken
	at = max(at, f.sent) // the clock of the kernel's times may have been set
	s.complete(f, at, load.Status(status), success, failed)
	c.pop()
	s.inFlight--
	c.freeAt = at
	if s.sending {
		c.pending++
	}
	if !stays {
		s.failConn(c, load.Closed)
		return false
	}
	s.fill(c)
	return true
}

// complete reports how a request that was sent has ended, and when; failed is the number of its units
// whose content did not pass the check.
func (s *sender) complete(f *flight, at int64, status load.Status, success bool, failed int) {
	s.completion = load.Completion{
		Seq: f.seq, Intended: f.intended, Sent: f.sent, Done: at,
		Status: status, Class: f.req.Class, Success: success, Checked: failed > 0, Failed: failed,
	}
	s.shard.Done(&s.completion)
}

// failRequest reports a request that was never sent.
func (s *sender) failRequest(d due, status load.Status) {
	s.completion = load.Completion{Seq: d.seq, Intended: d.intended, Done: s.now, Status: status, Class: s.classOf(d)}
	s.shard.Done(&s.completion)
}

// onClosed handles the end of a connection, orderly or not.
func (s *sender) onClosed(c *conn, status load.Status) {
	if c.broken {
		status = c.brokenWhy
	}
	if status == load.Closed && c.count > 0 && c.parser.EOF() {
		s.answered(c, s.now)
		return
	}
	s.failConn(c, status)
}

// failConn fails the requests in flight and closes the connection. The oldest request ends with
// the given status; those after it end with Closed.
func (s *sender) failConn(c *conn, status load.Status) {
	for ; c.count > 0; c.pop() {
		s.complete(c.oldest(), s.now, status, false, 0)
		s.inFlight--
		status = load.Closed
		if s.sending {
			c.pending++
		}
	}
	s.closeConn(c)
}

// closeConn closes a connection that has no request in flight; reconnect replaces it.
func (s *sender) closeConn(c *conn) {
	if c.state == up {
		s.connected--
	} else {
		s.connecting--
	}
	s.back.close(c)
	c.state = down
	c.gen++
	c.retry = s.now
	if c.failures > 0 {
		c.retry += min(firstPause<<min(c.failures-1, 10), longestPause)
	}
	c.failures++ // reset when the successor sends a request
	s.redial, s.wake = true, 0
}

// reconnect begins the handshake of each connection that is down and whose pause is over. It
// returns the instant at which it must be called again.
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
		s.connecting++
		s.refill(c)
		s.expectBy(s.now)
		s.back.connect(c)
	}
	return again
}

// onConnected handles a completed handshake.
func (s *sender) onConnected(c *conn) {
	s.connecting--
	s.connected++
	c.connected(s.clock())
	s.fill(c)
}

// onRefused handles a failed handshake. In the closed model it fails as many queued requests as
// the connection would have carried. In the open model it fails all queued requests, but only if
// no other connection is up or connecting.
func (s *sender) onRefused(c *conn, status load.Status) {
	s.closeConn(c)
	n := 0
	switch {
	case s.sending:
		n = min(s.depth, s.queue.len)
		c.pending += n
	case s.connected == 0 && s.connecting == 0:
		n = s.queue.len
	}
	for range n {
		s.failRequest(s.queue.pop(), status)
	}
}

// onFailedTries handles the handshakes that failed in the very call that began them, and reports
// whether there were any.
func (s *sender) onFailedTries(tries *[]failedTry) bool {
	if len(*tries) == 0 {
		return false
	}
	s.now = s.clock()
	for _, f := range *tries {
		if c := &s.conns[f.index]; c.gen == f.gen {
			s.onRefused(c, f.status)
		}
	}
	*tries = (*tries)[:0]
	return true
}

// expectBy makes sure that expire is called when a request or handshake that began at the given
// instant times out.
func (s *sender) expectBy(began int64) {
	if s.plan.Timeout <= 0 {
		return
	}
	if at := began + int64(s.plan.Timeout); at < s.deadline {
		s.deadline = at
		s.wake = min(s.wake, at)
	}
}

// expire fails requests and handshakes that have timed out.
func (s *sender) expire() {
	limit := s.now - int64(s.plan.Timeout) // what began at this instant or earlier has timed out
	s.deadline = never
	for s.queue.len > 0 && s.queue.front().intended <= limit {
		s.failRequest(s.queue.pop(), load.Timeout)
		if s.sending {
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
			s.closeConn(c) // the queued requests came later, or were failed above
		case c.state == connecting:
			s.expectBy(c.since)
		case c.count > 0 && c.oldest().intended <= limit:
			s.failConn(c, load.Timeout)
		case c.count > 0:
			s.expectBy(c.oldest().intended)
		}
	}
	if s.deadline != never {
		s.deadline = max(s.deadline, s.now+expiryGrain)
	}
}
