package orders

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// counters count requests: in flight, and answered by class of status. All CPUs write them at every request.
type counters interface {
	begin() (inFlight int64)
	end(status int)
	inFlight() int64
	answered(hundreds int) uint64 // hundreds from 1 to 5: of statuses 1xx to 5xx
}

// counterKinds names the implementations.
var counterKinds = map[string]func() counters{
	"packed": func() counters { return new(packed) },
	"padded": func() counters { return new(padded) },
}

// packed has all counters in one cache line or two.
type packed struct {
	running atomic.Int64
	classes [6]atomic.Uint64
}

func (p *packed) begin() int64          { return p.running.Add(1) }
func (p *packed) inFlight() int64       { return p.running.Load() }
func (p *packed) answered(h int) uint64 { return p.classes[h].Load() }
func (p *packed) end(status int) {
	p.classes[classOf(status)].Add(1)
	p.running.Add(-1)
}

// padded has a cache line for each counter, so that CPUs which write different ones do not take it from one
// another.
type padded struct {
	running struct {
		atomic.Int64
		_ cpu.CacheLinePad
	}
	classes [6]struct {
		atomic.Uint64
		_ cpu.CacheLinePad
	}
}

func (p *padded) begin() int64          { return p.running.Add(1) }
func (p *padded) inFlight() int64       { return p.running.Load() }
func (p *padded) answered(h int) uint64 { return p.classes[h].Load() }
func (p *padded) end(status int) {
	p.classes[classOf(status)].Add(1)
	p.running.Add(-1)
}

// classOf gives a status' hundreds.
func classOf(status int) int {
	if status < 100 || status > 599 {
		return 5
	}
	return status / 100
}
