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
type shares struct {
	server, bytes, cpu, disk float64

	pace float64 // of the time, requests waited while the rate that nobody had objected to was raised
}

// binding names the limit. Who lacks the processors waits for everything else as well, and for the disk behind
// everything but that, so these two come first when they are near their end; otherwise it is the servers, whose
// permission or answers are waited for, and for whose sake the rate rises no faster.
func (s shares) binding() string {
	switch {
	case s.cpu >= 0.8:
		return boundCPU
	case s.disk >= 0.5:
		return boundDisk
	case s.bytes > s.server:
		return boundBytes
	}
	return boundServer
}

// reading is what shares are computed from: sums since the start.
type reading struct {
	at                            time.Time
	cpu                           time.Duration // that the process used, or waited for while others did
	answering, verifying, sinking time.Duration
	requests, bytes, pace         time.Duration // that somebody waited for a budget, or for a server to be free
}

func (p *pipeline) read() reading {
	r := reading{at: time.Now()}
	used, _ := agent.ProcessCPU()
	r.cpu = time.Duration(used*float64(time.Second)) + delayed()
	r.answering, r.verifying, r.sinking = p.watch.Times()
	b := p.pool.Binding()
	r.requests, r.bytes, r.pace = b.Requests+b.Connections+b.Trouble, b.Bytes, b.Rising
	return r
}

// between gives the shares of the time between two readings.
func (p *pipeline) between(a, b reading) shares {
	took := b.at.Sub(a.at)
	if took <= 0 {
		return shares{}
	}
	of := func(a, b time.Duration, many int) float64 {
		return min(1, max(0, (b-a).Seconds()/took.Seconds()/float64(many)))
	}
	return shares{
		server: max(of(a.requests, b.requests, 1), of(a.answering, b.answering, max(p.config.Fetches, 1))),
		bytes:  of(a.bytes, b.bytes, 1),
		cpu:    max(of(a.cpu, b.cpu, runtime.GOMAXPROCS(0)), of(a.verifying, b.verifying, p.config.Provers())),
		disk:   of(a.sinking, b.sinking, 1),
		pace:   of(a.pace, b.pace, 1),
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
