package heartbeat

import (
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
		id, err = decode(body)
	}
	if err != nil {
		refuse(http.StatusBadRequest, err)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]int64{"server_ms": h.heard([]byte(id))}) // an error means that the client has gone
}

// call is the memory of a request, which the next one uses again.
type call struct {
	in     []byte // room for a body, and for a byte by which it is too large
	body   []byte
	out    []byte
	status int           // of the answer; 0: it is a heartbeat's
	done   chan struct{} // a worker has finished
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
	return &call{in: make([]byte, maxBody+1), done: make(chan struct{}, 1)}
}

func (p *calls) put(c *call) {
	if p.poison {
		poison(c.in)
		poison(c.out)
	}
	c.body, c.out, c.status = nil, c.out[:0], 0
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
	if c.read(r.Body); c.status == 0 {
		h.work(c)
	}
	c.write(w)
}

// exchange reads a request and writes its answer.
func (h *Heartbeat) exchange(c *call) {
	id, err := h.id(c.body)
	if err != nil {
		c.refuse(http.StatusBadRequest, refusal(err))
		return
	}
	c.out = appendAnswer(c.out, h.heard(id))
}

// read reads the body.
func (c *call) read(from io.Reader) {
	for size := 0; size <= maxBody; {
		n, err := from.Read(c.in[size:])
		size += n
		if errors.Is(err, io.EOF) && size <= maxBody {
			c.body = c.in[:size]
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
	for range runtime.GOMAXPROCS(0) {
		h.workers.Go(func() {
			for {
				select {
				case c := <-h.queue:
					h.exchange(c)
					c.done <- struct{}{}
				case <-h.ended:
					return
				}
			}
		})
	}
}

// submit has a worker do the work, and waits.
func (h *Heartbeat) submit(c *call) {
	select {
	case h.queue <- c: // which has no buffer: a worker has it now
		<-c.done
	case <-h.ended:
		c.refuse(http.StatusServiceUnavailable, "the server stops")
	}
}
