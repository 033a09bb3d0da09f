package agent

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"dyno/agent/monotonic"
)

const (
	period = int64(time.Second) / SamplesPerSecond // ns

	maxListeners    = 16              // one lab and a few pages that follow it; each costs a goroutine and 32 lines
	listenerLines   = 32              // a listener may be 3 s behind before it is dropped
	listenerTimeout = 5 * time.Second // time limit of one write
)

var (
	errClosed = errors.New("the service is shutting down")
	errFull   = errors.New("too many readers of the stream already; close one")
)

// stream passes each sample to every listener. The sampler runs while there is at least one.
type stream struct {
	sample func(stop <-chan struct{}) // the sampler; set once

	mu        sync.Mutex
	listeners map[*listener]struct{}
	stop      chan struct{} // non-nil while the sampler runs
	closed    bool
	running   sync.WaitGroup // samplers; at most one of them has not been stopped
}

// listener is one reader's bounded queue. It is closed when the reader is dropped or the stream
// ends.
type listener struct {
	lines   chan []byte
	dropped bool // it fell behind; read after lines is closed
}

func (s *stream) join() (*listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if len(s.listeners) >= maxListeners {
		return nil, errFull
	}
	if s.listeners == nil {
		s.listeners = make(map[*listener]struct{})
	}
	l := &listener{lines: make(chan []byte, listenerLines)}
	s.listeners[l] = struct{}{}
	if s.stop == nil {
		stop := make(chan struct{})
		s.stop = stop
		s.running.Go(func() { s.sample(stop) })
	}
	return l, nil
}

// leave removes a listener, if it is still registered, and stops the sampler after the last.
func (s *stream) leave(l *listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(l)
}

func (s *stream) remove(l *listener) {
	if _, on := s.listeners[l]; !on {
		return
	}
	delete(s.listeners, l)
	close(l.lines)
	if len(s.listeners) == 0 {
		close(s.stop)
		s.stop = nil
	}
}

// publish passes a line to every listener and drops those that are too far behind, so a slow
// reader costs no memory.
func (s *stream) publish(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		select {
		case l.lines <- line:
		default:
			l.dropped = true
			s.remove(l)
		}
	}
}

func (s *stream) close() {
	s.mu.Lock()
	s.closed = true
	for l := range s.listeners {
		s.remove(l)
	}
	s.mu.Unlock()
	s.running.Wait()
}

// serve writes samples, one per line, until the reader disconnects, falls behind or the stream
// ends.
func (s *stream) serve(w http.ResponseWriter, r *http.Request) {
	l, err := s.join()
	if err != nil {
		writeError(w, http.StatusServiceUnavailable, err)
		return
	}
	defer s.leave(l)
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	if r.Method == http.MethodHead || out.Flush() != nil { // send the headers immediately
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case line, more := <-l.lines:
			if !more && l.dropped {
				panic(http.ErrAbortHandler) // the reader must see a broken stream, not a finished one
			}
			if !more {
				return
			}
			// A writer that cannot set a deadline is still bounded by the listener's queue.
			_ = out.SetWriteDeadline(time.Now().Add(listenerTimeout))
			if _, err := w.Write(line); err != nil {
				return
			}
			if out.Flush() != nil {
				return
			}
		}
	}
}

// run is the sampler: it reads the process at each multiple of 100 ms of the monotonic clock
// until stop is closed. A multiple that passed while the process was stopped is left out.
func (a *Agent) run(stop <-chan struct{}) {
	r := newReader()
	defer r.close()
	sample := Sample{Gauges: make(map[string]float64)}
	timeout := time.NewTimer(time.Hour)
	defer timeout.Stop()
	tick := time.NewTimer(untilNext(monotonic.Now()))
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		// Every figure is finite, the gauges' by check, so there is no error; if there were one,
		// a missing sample is better than a stopped service.
		if line, err := a.take(r, &sample, timeout); err == nil {
			a.stream.publish(line)
		}
		tick.Reset(untilNext(monotonic.Now()))
	}
}

// take takes a sample and returns it as a line of the stream.
func (a *Agent) take(r *reader, sample *Sample, timeout *time.Timer) ([]byte, error) {
	r.read(sample)
	sample.Profiling = a.sawProfile()
	clear(sample.Gauges)
	for _, g := range a.allGauges() {
		if v, ok := g.value(timeout); ok {
			sample.Gauges[g.name] = v
		}
	}
	line, err := json.Marshal(sample)
	return append(line, '\n'), err
}

// untilNext returns the time from now (ns) to the next multiple of the period.
func untilNext(now int64) time.Duration {
	return time.Duration(period - ((now%period)+period)%period)
}
