package ledger

import (
	"context"
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
	ledgers                       uint64
}

func (p *pipeline) read() reading {
	r := reading{at: time.Now(), ledgers: p.watch.Ledgers.Load()}
	used, _ := agent.ProcessCPU()
	r.cpu = time.Duration(used*float64(time.Second)) + delayed()
	r.answering, r.verifying, r.sinking = p.watch.Times()
	b := p.pool.WaitTimes()
	r.requests, r.bytes, r.pace = b.Requests+b.Connections+b.Cooldown, b.Bytes, b.RampUp
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

// Readings are taken once a second, however often they are read; the rate of ledgers is that of rateWindow.
const (
	readEvery  = time.Second
	rateWindow = 10 * time.Second
)

// bound keeps the readings of the last rateWindow, and the first one.
type bound struct {
	first reading

	mu   sync.Mutex
	last []reading // the oldest first; two at least, unless there was but one
}

// begin takes the first reading.
func (b *bound) begin(p *pipeline) {
	b.first = p.read()
	b.take(b.first)
}

// run takes readings until ctx is done.
func (b *bound) run(ctx context.Context, p *pipeline) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.take(p.read())
		case <-ctx.Done():
			return
		}
	}
}

// take keeps a reading, and lets go of those that are older than the window needs.
func (b *bound) take(r reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = append(b.last, r)
	for len(b.last) > 2 && r.at.Sub(b.last[1].at) >= rateWindow {
		b.last = b.last[1:]
	}
}

// recent are the shares of the time between the last two readings.
func (b *bound) recent(p *pipeline) shares {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.last); n > 1 {
		return p.between(b.last[n-2], b.last[n-1])
	}
	return shares{}
}

// rate is how many ledgers a second were proved in the window.
func (b *bound) rate() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest, newest := b.last[0], b.last[len(b.last)-1]
	if took := newest.at.Sub(oldest.at); took > 0 {
		return float64(newest.ledgers-oldest.ledgers) / took.Seconds()
	}
	return 0
}

// whole are the shares since begin.
func (b *bound) whole(p *pipeline) shares { return p.between(b.first, p.read()) }
