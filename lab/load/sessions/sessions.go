// Package sessions drives connections that stay open through a run, each with a state of its own:
// players of a game, subscribers to a stream. A session sends messages at the schedule's times,
// and a message is done when the server has acknowledged it. The server also sends frames:
// updates of a state, events, notices.
//
// A message's latency counts from the time that the schedule intended, however late the session
// sent it, until the acknowledgement, so a stall of the server shows in every message that was
// due during the stall. A lost session is not opened again, and its later messages fail. Messages
// without an acknowledgement time out, or are unfinished at the end of the run; none is dropped.
// If sessions only receive, the schedule has no times.
//
// The package knows no protocol, and is not for single requests (http1, nethttp). Package script
// has drivers for WebSockets and server-sent events. Drive owns one receiving goroutine per
// session, and a few that open sessions, send, and advance the windows; all have ended when it
// returns.
package sessions

import "context"

// Driver opens sessions of one protocol. If it is an io.Closer, the Engine closes it after the
// run.
type Driver interface {
	// Open opens the i-th session, from 0. Calls run concurrently. Open returns soon after ctx is
	// done; ctx bounds only the opening.
	Open(ctx context.Context, i int) (Session, error)
}

// Session is one open connection. One goroutine sends while another receives. The receiving
// goroutine calls Close once, after its last Receive.
type Session interface {
	// Send sends the message with a number, which counts from 1 in each session. It must not wait
	// for the server, since one goroutine sends for many sessions; a small write to a socket is
	// fine. An error ends the session.
	Send(ctx context.Context, number uint64) error
	// Receive blocks until something has arrived, and returns soon after ctx is done. An error
	// ends the session.
	Receive(ctx context.Context) (Received, error)
	Close() error
}

// Received describes what arrived since the last call of Receive.
type Received struct {
	Acked  uint64 // the server has acknowledged all messages up to this number; 0: no new ones
	Frames int    // messages that count as frames, such as updates of a state
	Bytes  int    // all bytes received, frames or not
}
