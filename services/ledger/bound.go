package ledger

import (
	"runtime"
	"sync"
	"time"

	"dyno/agent"
)

// What bounds a sync, as its last line says it.
const (
	boundServer = "server" // the servers: what they allow, or how long they take
	boundBytes  = "bytes"  // what they allow in bytes
	boundCPU    = "cpu"    // the processors
	boundDisk   = "disk"   // the store
)

// shares say for how much of the time that passed each limit held the sync up, from 0 to 1.
type shares struct{ server, bytes, cpu, disk float64 }

// binding names the limit. Who waits for the disk or the processors does so behind everything else, so these come first when
// they are near their end; otherwise it is the servers, whose permission or answers are waited for.
func (s shares) binding() string {
	switch {
	case s.disk >= 0.5:
		return boundDisk
	case s.cpu >= 0.8:
		return boundCPU
	case s.bytes > s.server:
		return boundBytes
	}
	return boundServer
}

// reading is what shares are computed from: sums since the start.
type reading struct {
	at                            time.Time
	cpu                           float64 // s
	answering, verifying, sinking time.Duration
	requests, bytes               time.Duration // that somebody waited for a budget, or for a server to come back
}

func (p *pipeline) read() reading {
	r := reading{at: time.Now()}
	r.cpu, _ = agent.ProcessCPU()
	r.answering, r.verifying, r.sinking = p.watch.Times()
	b := p.pool.Binding()
	r.requests, r.bytes = b.Requests+b.Trouble, b.Bytes
	return r
}

// between gives the shares of the time between two readings.
func (p *pipeline) between(a, b reading) shares {
	took := b.at.Sub(a.at).Seconds()
	if took <= 0 {
		return shares{}
	}
	fetchers := took * float64(max(p.config.Fetches, 1))
	verifiers := took * float64(p.config.Provers())
	of := func(a, b time.Duration, of float64) float64 { return min(1, (b-a).Seconds()/of) }
	return shares{
		server: max(of(a.requests, b.requests, took), of(a.answering, b.answering, fetchers)),
		bytes:  of(a.bytes, b.bytes, took),
		cpu:    max((b.cpu-a.cpu)/took/float64(runtime.GOMAXPROCS(0)), of(a.verifying, b.verifying, verifiers)),
		disk:   of(a.sinking, b.sinking, took),
	}
}

// bound keeps the shares of the last second, for who looks on, and of the whole.
type bound struct {
	mu          sync.Mutex
	first, last reading
	now         shares
}

// begin starts the clock.
func (b *bound) begin(p *pipeline) {
	b.first = p.read()
	b.last = b.first
}

// recent are the shares of about the last second.
func (b *bound) recent(p *pipeline) shares {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.last.at) >= time.Second {
		r := p.read()
		b.now, b.last = p.between(b.last, r), r
	}
	return b.now
}

// whole are the shares since begin.
func (b *bound) whole(p *pipeline) shares { return p.between(b.first, p.read()) }
