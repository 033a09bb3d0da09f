package heartbeat

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"
)

// std is a handler as one writes it on the first day.
func (h *Heartbeat) std(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, err error) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": refusal(err)})
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		refuse(http.StatusRequestEntityTooLarge, err)
		return
	}
	var id string
	if err == nil {
		id, err = decode(bytes.NewReader(body), new(asked))
	}
	if err != nil {
		refuse(http.StatusBadRequest, err)
		return
	}
	_ = json.NewEncoder(w).Encode(answered{h.heard([]byte(id))}) // an error means that the client has gone
}

// call is the memory of a request, which the next one uses again.
type call struct {
	in   []byte // room for a body, and for a byte by which it is too large
	size int    // of the body
	out  []byte
	// status is of an answer that is no heartbeat's; 0: it is one.
	status int

	body     bytes.Reader
	asked    asked
	answered answered
	encoder  *json.Encoder // into out
	done     chan struct{} // a worker has finished
}

func newCall() *call {
	c := &call{done: make(chan struct{}, 1)}
	c.encoder = json.NewEncoder(c)
	return c
}

// Write appends to out.
func (c *call) Write(b []byte) (int, error) {
	c.out = append(c.out, b...)
	return len(b), nil
}

// reset forgets the request, and keeps the memory.
func (c *call) reset() {
	c.body.Reset(nil)
	c.size, c.out, c.status, c.asked, c.answered = 0, c.out[:0], 0, asked{}, answered{}
}

func (c *call) refuse(status int, text string) {
	c.status, c.out = status, appendError(c.out[:0], text)
}

// calls is a pool of calls, which have the lifetime of a request.
type calls struct {
	pool   sync.Pool
	poison bool
}

func (p *calls) get() *call {
	if c, ok := p.pool.Get().(*call); ok {
		return c
	}
	c := newCall()
	c.in = make([]byte, maxBody+1)
	return c
}

func (p *calls) put(c *call) {
	if p.poison {
		poison(c.in)
		poison(c.out)
	}
	c.reset()
	p.pool.Put(c)
}

// poison fills memory with a byte that no text in UTF-8 repeats.
func poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = 0xdb
	}
}

// pooled is a handler whose memory is used again.
func (h *Heartbeat) pooled(w http.ResponseWriter, r *http.Request) {
	c := h.calls.get()
	defer h.calls.put(c)
	if c.read(r); c.status == 0 {
		h.exchange(c, c.in[:c.size])
	}
	c.write(w)
}

// exchange reads a request and writes its answer.
func (h *Heartbeat) exchange(c *call, body []byte) {
	id, err := h.json.id(c, body)
	if err != nil {
		c.refuse(http.StatusBadRequest, refusal(err))
		return
	}
	h.json.answer(c, h.heard(id))
}

// read reads the body.
func (c *call) read(r *http.Request) {
	for c.size <= maxBody {
		n, err := r.Body.Read(c.in[c.size:])
		c.size += n
		if errors.Is(err, io.EOF) && c.size <= maxBody {
			return
		}
		if err != nil && !errors.Is(err, io.EOF) {
			c.refuse(http.StatusBadRequest, refusal(err))
			return
		}
	}
	c.refuse(http.StatusRequestEntityTooLarge, refusal(&http.MaxBytesError{Limit: maxBody}))
}

var jsonType = []string{"application/json"} // shared by all answers

func (c *call) write(w http.ResponseWriter) {
	w.Header()["Content-Type"] = jsonType
	if c.status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	if c.status != 0 {
		w.WriteHeader(c.status)
	}
	_, _ = w.Write(c.out)
}

// start starts a worker for each processor.
func (h *Heartbeat) start() {
	n := runtime.GOMAXPROCS(0)
	h.queue = make(chan *call, 2*n)
	for range n {
		h.workers.Go(func() {
			for {
				select {
				case c := <-h.queue:
					h.exchange(c, c.in[:c.size])
					c.done <- struct{}{}
				case <-h.ended:
					return
				}
			}
		})
	}
}

// queued is a handler that has a worker do the work.
func (h *Heartbeat) queued(w http.ResponseWriter, r *http.Request) {
	c := h.calls.get()
	if c.read(r); c.status == 0 && !h.work(c) {
		// A worker may have this call still: it is not used again.
		c = newCall()
		c.refuse(http.StatusServiceUnavailable, "the server stops")
		c.write(w)
		return
	}
	c.write(w)
	h.calls.put(c)
}

// work waits for a worker; false: they have ended.
func (h *Heartbeat) work(c *call) bool {
	select {
	case h.queue <- c:
	case <-h.ended:
		return false
	}
	select {
	case <-c.done:
		return true
	case <-h.ended:
		return false
	}
}
