package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// pace is how a stream goes.
type pace struct {
	look     time.Duration // between two looks at the disk
	beat     time.Duration // after so long without news a client is sent a sign of life
	patience time.Duration // for a client to take an event, before it is dropped
}

// defaultPace looks alive and leaves the machine to what is measured: a look is some ten system calls.
var defaultPace = pace{look: 500 * time.Millisecond, beat: 15 * time.Second, patience: 5 * time.Second}

// events streams what happens in an experiment, as server-sent events, until it has ended or the client
// has gone. A client that comes again goes on where it was.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d clients watch already; close one of their pages", cap(s.streams)), http.StatusServiceUnavailable)
		return
	}
	f := &follower{shelf: s.shelf, name: r.PathValue("name"), fresh: true}
	if at, err := parsePosition(comesFrom(r)); err == nil {
		f.at, f.fresh = at, false
	}
	news, err := f.look()
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{w: w, conn: http.NewResponseController(w), patience: s.pace.patience, last: time.Now()}
	look := time.NewTicker(s.pace.look)
	defer look.Stop()
	for {
		for _, e := range news {
			if out.send(e) != nil || e.kind == eventEnd {
				return
			}
		}
		if time.Since(out.last) >= s.pace.beat && out.beat() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-look.C:
		}
		if news, err = f.look(); err != nil {
			news = []event{{eventEnd, f.at, nil}} // its folder is gone; the page, loaded again, says so
		}
	}
}

// comesFrom is the last event that a client has seen: a browser that reconnects by itself says so in a
// header, a page that opens a stream again in its address.
func comesFrom(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.URL.Query().Get("after")
}

// stream writes events to one client.
type stream struct {
	w        http.ResponseWriter
	conn     *http.ResponseController
	patience time.Duration
	last     time.Time // when something was sent
}

func (s *stream) send(e event) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	return s.write("id: %s\nevent: %s\ndata: %s\n\n", e.at, e.kind, data)
}

// beat is a comment: it tells both ends that the other is there.
func (s *stream) beat() error { return s.write(":\n\n") }

func (s *stream) write(format string, args ...any) error {
	s.last = time.Now()
	if err := s.conn.SetWriteDeadline(s.last.Add(s.patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil {
		return err
	}
	return s.conn.Flush()
}
