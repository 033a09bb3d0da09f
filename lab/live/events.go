package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// pace is the timing of a stream.
type pace struct {
	interval time.Duration // between two readings of the disk
	beat     time.Duration // time without events after which a comment is sent
	patience time.Duration // time for a client to accept an event before it is disconnected
}

// defaultPace seems continuous and leaves the CPU to the measurement: a reading takes some ten
// system calls.
var defaultPace = pace{interval: 500 * time.Millisecond, beat: 15 * time.Second, patience: 5 * time.Second}

// events streams the changes of an experiment as server-sent events, until it has ended or the
// client has disconnected. A client that reconnects continues where it stopped.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, fmt.Sprintf("%d clients watch already; close one of their pages", cap(s.streams)), http.StatusServiceUnavailable)
		return
	}
	f := &follower{index: s.index, name: r.PathValue("name"), fresh: true}
	if at, err := parsePosition(comesFrom(r)); err == nil {
		f.at, f.fresh = at, false
	}
	news, err := f.changes()
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := &stream{w: w, conn: http.NewResponseController(w), patience: s.pace.patience, last: time.Now()}
	due := time.NewTicker(s.pace.interval)
	defer due.Stop()
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
		case <-due.C:
		}
		if news, err = f.changes(); err != nil {
			// its folder is gone; the page shows that after a reload
			news = []event{{eventEnd, f.at, nil}}
		}
	}
}

// comesFrom returns the ID of the last event that a client has received. A browser that reconnects
// sends it in a header, a page that opens the stream again in the address.
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
	last     time.Time // time of the last write
}

func (s *stream) send(e event) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	return s.write("id: %s\nevent: %s\ndata: %s\n\n", e.at, e.kind, data)
}

// beat writes a comment, which shows both ends that the connection is alive.
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
