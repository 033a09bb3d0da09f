// Package push streams notices to clients that hold a connection open: server-sent events and
// WebSocket. A client resumes where it was by the number of the last notice it has seen, and then
// gets every notice it wants once and in order: what it was sent and did not see is sent again.
//
// Nothing is buffered for a slow reader: each stream reads the log at its own pace, one chunk at a
// time, and one that falls behind what the log keeps receives the numbers it missed. A reader that
// takes longer than 10 s for a chunk is cut off, and receives the reason if it reads the rest a
// little later. It is not for confirmed delivery: this package does not know what a client does
// with a notice.
//
// Server-sent events end a line at CR, LF or both, so each of these in a payload becomes a data
// field of its own and reaches the client as LF. JSON knows line ends only between its tokens, so
// the value is the same; a signature over the bytes would not be. A WebSocket message is as the
// payload came, but for bytes that are not UTF-8, which WebSocket forbids: they become U+FFFD, as
// they do for readers of events.
//
// A stream's goroutine is the request's, and ends with it or when the source closes; a WebSocket
// stream has another to read, and waits for it. Streams.Wait waits for all.
package push

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Source is the log of notices as streams see it. Its methods may be called from any goroutine.
type Source interface {
	// Scan visits notices from number from on, in order, until there are no more or visit returns an
	// error. first > from means that the notices before first are no longer kept, and that the visits
	// began there. A skipped number is lost, and Streams reports it to its clients.
	Scan(from uint64, visit func(Notice) error) (first uint64, err error)
	// Bounds returns the first number kept and the next to be given. Numbers begin at 1.
	Bounds() (first, next uint64)
	// Wait returns a channel that is closed when there is a notice with number next or the source
	// closes (ok is false when it has closed already). It is called before every Scan, so what it
	// costs matters most when many streams wait for the same number.
	Wait(next uint64) (more <-chan struct{}, ok bool)
}

// Notice is what a stream carries. It is valid during the visit only.
type Notice struct {
	Seq      uint64
	Type     string
	Envelope []byte // {"type":..,"timestamp":..,"data":{"id":..,"key":..,"payload":..}}: the body of its webhook
	Accepted time.Time
}

const (
	heartbeat = 15 * time.Second // between signs of life of an idle stream: half of what proxies usually allow
	writeTime = 10 * time.Second // for a chunk of notices (64 KiB, or one notice that is larger)
)

// Options bound the streams.
type Options struct {
	MaxStreams int          `set:"max_streams" default:"10000" min:"1" max:"1048576" doc:"open streams, by server-sent events or WebSocket; above it 503"`
	Log        *slog.Logger // for what ends a stream and is not its client's doing
}

// Streams serves the streams of one source: SSE and WebSocket are handlers of GET requests.
type Streams struct {
	source    Source
	o         Options
	heartbeat time.Duration // the constant, unless a test waits for nothing else
	chunks    sync.Pool     // of *chunk

	sent, cut atomic.Uint64

	mu   sync.Mutex
	open int
	idle chan struct{} // closed when open falls to 0; nil: no caller waits for that
}

// New returns the streams of a source.
func New(s Source, o Options) *Streams {
	return &Streams{source: s, o: o, heartbeat: heartbeat, chunks: sync.Pool{New: func() any { return new(chunk) }}}
}

// Stats is what the streams have seen so far.
type Stats struct {
	Open   int    // streams now
	Sent   uint64 // notices, once for each stream that they were written to
	CutOff uint64 // streams ended because their reader was too slow or gave no sign of life
}

// Stats reads the counters.
func (s *Streams) Stats() Stats {
	return Stats{Open: s.Count(), Sent: s.sent.Load(), CutOff: s.cut.Load()}
}

// Count returns how many streams are open.
func (s *Streams) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// Wait returns when no stream is open, or with the reason why ctx ended. After the source has
// closed that takes no longer than twice writeTime and 20 s, whatever clients do. A
// server's Shutdown does not wait for WebSocket streams, so Wait is called after it.
func (s *Streams) Wait(ctx context.Context) error {
	s.mu.Lock()
	if s.open == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.idle == nil {
		s.idle = make(chan struct{})
	}
	idle := s.idle
	s.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter takes one of the places for streams; false: there is none.
func (s *Streams) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.o.MaxStreams {
		return false
	}
	s.open++
	return true
}

func (s *Streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.open == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
}
