package soak

import (
	"sync"
	"sync/atomic"
	"time"
)

// outage is the time from the database's end until all clients are served again.
type outage struct {
	recovered chan struct{} // closed when all clients are served again
	open      atomic.Bool   // the database is back, and some clients were not served yet

	mu       sync.Mutex
	returned time.Time
	took     time.Duration
	unserved map[int]bool // clients not served yet
}

func newOutage(clients int) *outage {
	o := &outage{recovered: make(chan struct{}), unserved: map[int]bool{}}
	for i := range clients {
		o.unserved[i] = true
	}
	return o
}

// end marks the database's return.
func (o *outage) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.returned = time.Now()
	o.open.Store(true)
}

// served records that a client received an answer from the database; the request must have begun
// after end.
func (o *outage) served(client int, began time.Time) {
	if !o.open.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if began.Before(o.returned) || len(o.unserved) == 0 {
		return
	}
	if delete(o.unserved, client); len(o.unserved) == 0 {
		o.took = time.Since(o.returned)
		o.open.Store(false)
		close(o.recovered)
	}
}

func (o *outage) over() bool {
	select {
	case <-o.recovered:
		return true
	default:
		return false
	}
}

func (o *outage) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.unserved)
}
