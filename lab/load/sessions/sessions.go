// Package sessions drives connections that stay open through a run, each with a state of its own:
// players of a game, subscribers to a stream. A session sends messages at the schedule's times,
// and a message is done when the server has acknowledged it. Between them the server sends frames:
// updates of a state, events, notices.
//
// The latency of a message counts from the time that the schedule intended, however late the
// session sent it, until the acknowledgement: a stall of the server shows in every message that
// fell into it. A session that is lost stays lost, and its later messages fail. Messages without an
// acknowledgement time out, or are unfinished at the end of the run; none is dropped. Sessions
// without messages (subscribers that only receive) are a schedule without times.
//
// The package knows no protocol, and is not for single requests (http1, nethttp). Package script
// has drivers for WebSockets and server-sent events. Drive owns one goroutine for each session,
// which receives, and a few that open, send, and move the windows; all have ended when it returns.
package sessions

import "context"

// Driver opens sessions of one protocol. If it is an io.Closer, it is closed after the run.
type Driver interface {
	// Open opens the i-th session, from 0. Several calls run concurrently. It returns soon after
	// ctx is done, which bounds the opening only.
	Open(ctx context.Context, i int) (Session, error)
}

// Session is one open connection. One goroutine sends while another receives. Close is called once,
// by the one that receives, after its last call.
type Session interface {
	// Send sends the message with that number, which counts from 1 in each session. It must not wait
	// for the server, since a goroutine sends for many sessions: a small write into a socket is
	// fine. An error ends the session.
	Send(ctx context.Context, number uint64) error
	// Receive blocks until something came, and returns soon after ctx is done. An error ends the
	// session.
	Receive(ctx context.Context) (Received, error)
	Close() error
}

// Received is what came in since the last call of Receive.
type Received struct {
	Acked  uint64 // the server has acknowledged all messages up to this number; 0: none is new
	Frames int    // messages that count, such as updates of the state
	Bytes  int    // all bytes received, frames or not
}
