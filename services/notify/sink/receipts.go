package sink

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	flushEvery = 10 * time.Millisecond // receipts reach their reader within 20 ms
	maxUnread  = 8 << 20               // bytes that wait for a slow reader: some 150,000 receipts
	maxReaders = 16
)

// streams sends each receipt to those who read its run's.
type streams struct {
	mu      sync.RWMutex
	readers []*reader
	closed  chan struct{} // made by the first reader or close
}

// reader is one GET /receipts.
type reader struct {
	prefix string // of the ids it wants: RUN-

	mu   sync.Mutex
	text []byte // lines not yet sent
	full bool   // a line did not fit: the stream ends here
}

func (s *streams) send(notices []received, at int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.readers {
		r.add(notices, at)
	}
}

func (r *reader) add(notices []received, at int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range notices {
		if len(n.id) < len(r.prefix) || string(n.id[:len(r.prefix)]) != r.prefix {
			continue
		}
		if r.full || len(r.text)+len(n.id) > maxUnread {
			r.full = true
			return
		}
		r.text = append(r.text, n.id...)
		r.text = append(r.text, ' ')
		r.text = strconv.AppendInt(r.text, at, 10)
		r.text = append(r.text, '\n')
	}
}

// swap takes the waiting lines and leaves an empty buffer in their place.
func (r *reader) swap(empty []byte) (text []byte, full bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, r.text = r.text, empty[:0]
	return text, r.full
}

// serve streams lines "ID MONOTONIC_NS" of one run until the reader goes or the sink closes. A
// reader that is too slow is cut off with a line that says so: a receipt is never left out
// silently.
func (s *streams) serve(w http.ResponseWriter, req *http.Request) {
	run := req.URL.Query().Get("run")
	if run == "" {
		http.Error(w, "which run? ask for /receipts?run=RUN, where a notice's id is RUN-HEX16", http.StatusBadRequest)
		return
	}
	r := &reader{prefix: run + "-"}
	closed, err := s.join(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.leave(r)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	flush := http.NewResponseController(w)
	flush.Flush() // the reader knows that it will miss nothing from here
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var text []byte
	for full, ending := false, false; !full && !ending; {
		select {
		case <-req.Context().Done():
			return
		case <-closed:
			ending = true
		case <-tick.C:
		}
		text, full = r.swap(text)
		if full {
			text = fmt.Appendf(text, "error: the reader fell more than %d bytes behind; receipts are missing from here\n", maxUnread)
		}
		if len(text) == 0 {
			continue
		}
		if _, err := w.Write(text); err != nil {
			return
		}
		if err := flush.Flush(); err != nil {
			return
		}
	}
}

func (s *streams) join(r *reader) (closed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = make(chan struct{})
	}
	if len(s.readers) == maxReaders {
		return nil, fmt.Errorf("%d readers already", maxReaders)
	}
	s.readers = append(s.readers, r)
	return s.closed, nil
}

func (s *streams) leave(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers = slices.DeleteFunc(s.readers, func(have *reader) bool { return have == r })
}

func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == nil {
		s.closed = make(chan struct{})
	}
	close(s.closed)
}
