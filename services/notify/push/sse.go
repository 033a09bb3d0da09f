package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"dyno/parts/refusal"
)

// SSE serves GET /v1/stream?types=a,b.*&after=SEQ as server-sent events (WHATWG HTML, section 9.2).
// Each notice is an event without a name whose id is its number; event "gap" has {"from","to"},
// event "reset" has {"from"}, where the client's Last-Event-ID is not of this log. Events "slow"
// and "unauthorized", with {"error"}, come before the end of a stream whose reader was too slow, or
// may not read on. An id without data, at the beginning and with heartbeats, moves the browser's
// Last-Event-ID past what the client did not ask for.
func (s *Streams) SSE(w http.ResponseWriter, r *http.Request) {
	at := s.admit(w, r)
	if at == nil {
		return
	}
	defer s.leave()
	events := &events{streams: s, w: w, conn: http.NewResponseController(w)}
	if !events.open(r) {
		return
	}
	why := events.skip(at.next - 1)
	if why == nil {
		why = s.follow(r.Context(), at, events)
	}
	s.finish(r.Context(), events, why)
}

// events is the transport of server-sent events.
type events struct {
	streams *Streams
	w       http.ResponseWriter
	conn    *http.ResponseController
	passed  uint64 // the last id sent
}

// open begins the answer, or gives another.
func (e *events) open(r *http.Request) bool {
	// The server gives a request 30 s or so to arrive, and a stream outlives them.
	if err := e.conn.SetReadDeadline(time.Time{}); err != nil {
		answer(e.w, refusal.New(http.StatusInternalServerError, "this connection cannot carry a stream: %v", err))
		return false
	}
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would collect events
	if r.ProtoMajor == 1 {
		h.Set("Connection", "close") // the deadline of the last write must not meet another request
	}
	e.w.WriteHeader(http.StatusOK)
	return true
}

// skip sends an id alone.
func (e *events) skip(to uint64) error {
	return e.write(append(e.appendID(nil, to), '\n'))
}

func (e *events) appendID(b []byte, seq uint64) []byte {
	e.passed = seq
	b = append(b, "id: "...)
	b = strconv.AppendUint(b, seq, 10)
	return append(b, '\n')
}

func (e *events) notice(b []byte, n Notice) []byte {
	return appendData(e.appendID(b, n.Seq), n.Envelope)
}

// gap has the id of its last number: a client that has received it does not receive it again.
func (e *events) gap(b []byte, g gap) []byte {
	b = e.appendID(append(b, "event: gap\n"...), g.to)
	return appendData(b, g.appendTo(nil))
}

// reset has the id before the number, so that a browser comes back with one that is of this log.
func (e *events) reset(b []byte, from uint64) []byte {
	b = e.appendID(append(b, "event: reset\n"...), from-1)
	return appendData(b, appendFrom(nil, from))
}

// appendData appends data as fields of a line each, and ends the event.
func appendData(b, data []byte) []byte {
	for more := true; more; {
		line, width := data, 0
		if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
			line, width = data[:i], 1
			if bytes.HasPrefix(data[i:], []byte("\r\n")) {
				width = 2
			}
		}
		b = append(b, "data: "...)
		b = append(b, line...)
		b = append(b, '\n')
		data, more = data[len(line)+width:], width > 0
	}
	return append(b, '\n')
}

func (e *events) send(c *chunk) error { return e.write(c.frames) }

func (e *events) beat(passed uint64) error {
	b := []byte(": ping\n")
	if passed > e.passed {
		b = e.appendID(b, passed)
	}
	return e.write(append(b, '\n'))
}

func (e *events) end(why error) {
	var refused *refusal.Error
	name := ""
	switch {
	case errors.Is(why, errSlow):
		name = "slow"
	case errors.As(why, &refused):
		name = "unauthorized"
	}
	if name != "" {
		data, _ := json.Marshal(map[string]string{"error": why.Error()})
		if e.write(appendData([]byte("event: "+name+"\n"), data)) != nil {
			return
		}
	}
	if errors.Is(why, context.Canceled) {
		return // the client has gone
	}
	// The server writes the end of the answer after the handler.
	_ = e.conn.SetWriteDeadline(time.Now().Add(writeTime))
}

// write sends and flushes. It leaves no deadline behind: HTTP/2 would end the stream when it
// passes.
func (e *events) write(b []byte) error {
	return e.streams.timely(func(deadline time.Time) error {
		if err := e.conn.SetWriteDeadline(deadline); err != nil {
			return err
		}
		if _, err := e.w.Write(b); err != nil {
			return err
		}
		if err := e.conn.Flush(); err != nil {
			return err
		}
		return e.conn.SetWriteDeadline(time.Time{})
	})
}
