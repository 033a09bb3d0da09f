package httploop

import (
	"log/slog"
	"sync"
	"sync/atomic"
)

// Reasons of the loop itself. Those of Denied are names of header fields.
const (
	ReasonBody    = "body"    // larger than MaxBody
	ReasonFraming = "framing" // bytes that package wire does not take for a request
	ReasonHost    = "host"    // not known here
	ReasonHTTP2   = "HTTP/2"  // the client offers it over TLS
	ReasonMethod  = "method"  // not served by the loop
	ReasonPath    = "path"    // not served by the loop
)

// maxReasons bounds the reasons that are counted apart. Further ones, which a mistake would cause,
// count as reasonOther.
const (
	maxReasons  = 64
	reasonOther = "other"
)

// Reasons counts what does not stay on event loops, by reason. Its methods may be called from any
// goroutine; Add does not block.
type Reasons struct {
	Log   *slog.Logger // receives a line for the first of each reason; nil means none
	Event string       // the line's message

	counts sync.Map // of *atomic.Uint64, by reason
	mu     sync.Mutex
	known  int // entries of counts
}

// Add counts one for a reason. The reason is a fixed text, or the name of a header field: never
// what a client has chosen.
func (r *Reasons) Add(reason string) {
	n, ok := r.counts.Load(reason)
	if !ok {
		n = r.first(reason)
	}
	n.(*atomic.Uint64).Add(1)
}

// first makes the count of a reason, and logs it.
func (r *Reasons) first(reason string) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known >= maxReasons {
		reason = reasonOther
	}
	n, known := r.counts.LoadOrStore(reason, new(atomic.Uint64))
	if !known {
		r.known++
		if r.Log != nil {
			r.Log.Info(r.Event, "reason", reason)
		}
	}
	return n
}

// Counts returns the counts, by reason.
func (r *Reasons) Counts() map[string]uint64 {
	out := map[string]uint64{}
	for reason, n := range r.counts.Range {
		out[reason.(string)] = n.(*atomic.Uint64).Load()
	}
	return out
}
