package ledger

import (
	"context"
	"runtime"
	"sync"
	"time"

	"dyno/agent"
)

// The limiting resource of a sync, as its last line names it.
const (
	boundServer = "server" // the servers: request budgets or latency
	boundBytes  = "bytes"  // the servers' byte budgets
	boundCPU    = "cpu"    // the processors
	boundDisk   = "disk"   // the store
)

// utilisation is the share of time, from 0 to 1, that each resource limited the sync.
type utilisation struct {
	server, bytes, cpu, disk float64

	pace float64 // requests waited while the request rate was ramping up
}

// limitingResource names the limit. The order matters: a process without enough processors also
// waits for network and disk, and a slow disk also stalls the network, so these two come first when
// they are nearly used up. Otherwise it is the servers: their budgets, their latency, or the
// ramp-up of the request rate.
func (s utilisation) limitingResource() string {
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

// reading is the basis of utilisation: sums since the start.
type reading struct {
	at time.Time
	// CPU time used by the process, or waited for while other processes had it.
	cpu                           time.Duration
	answering, verifying, sinking time.Duration
	// Time that callers waited for a budget, or for a server to be free.
	requests, bytes, pace time.Duration
	ledgers               uint64
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

func (p *pipeline) between(a, b reading) utilisation {
	took := b.at.Sub(a.at)
	if took <= 0 {
		return utilisation{}
	}
	of := func(a, b time.Duration, many int) float64 {
		return min(1, max(0, (b-a).Seconds()/took.Seconds()/float64(many)))
	}
	return utilisation{
		server: max(of(a.requests, b.requests, 1), of(a.answering, b.answering, max(p.config.Fetches, 1))),
		bytes:  of(a.bytes, b.bytes, 1),
		cpu:    max(of(a.cpu, b.cpu, runtime.GOMAXPROCS(0)), of(a.verifying, b.verifying, p.config.Provers())),
		disk:   of(a.sinking, b.sinking, 1),
		pace:   of(a.pace, b.pace, 1),
	}
}

// Readings are taken once a second; the rate of ledgers is that of rateWindow.
const (
	readEvery  = time.Second
	rateWindow = 10 * time.Second
)

// bottleneck keeps the readings of the last rateWindow, and the first one.
type bottleneck struct {
	first reading

	mu   sync.Mutex
	last []reading // oldest first; at least two after the first second
}

func (b *bottleneck) begin(p *pipeline) {
	b.first = p.read()
	b.take(b.first)
}

func (b *bottleneck) run(ctx context.Context, p *pipeline) {
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

// take keeps a reading, and drops those that are older than the window needs.
func (b *bottleneck) take(r reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = append(b.last, r)
	for len(b.last) > 2 && r.at.Sub(b.last[1].at) >= rateWindow {
		b.last = b.last[1:]
	}
}

func (b *bottleneck) recent(p *pipeline) utilisation {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.last); n > 1 {
		return p.between(b.last[n-2], b.last[n-1])
	}
	return utilisation{}
}

func (b *bottleneck) rate() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest, newest := b.last[0], b.last[len(b.last)-1]
	if took := newest.at.Sub(oldest.at); took > 0 {
		return float64(newest.ledgers-oldest.ledgers) / took.Seconds()
	}
	return 0
}

func (b *bottleneck) whole(p *pipeline) utilisation { return p.between(b.first, p.read()) }
