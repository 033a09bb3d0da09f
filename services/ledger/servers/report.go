package servers

import (
	"maps"
	"time"

	"dyno/services/ledger/xrpl/history"
)

const maxReasons = 32

// ServerStats is a snapshot of one server's state and counters.
type ServerStats struct {
	Server   string
	Requests uint64 // finished requests
	Good     uint64 // requests with a good answer
	Bytes    uint64 // bytes received
	Slowed   uint64 // slowDown answers
	Warned   uint64 // answers with a load warning
	InFlight int

	RequestRate float64 // permitted requests/s now
	ByteRate    float64 // permitted bytes/s now
	RequestEdge float64 // requests/s at which its limit was last reached; 0: never
	ByteEdge    float64 // bytes/s at which its limit was last reached; 0: never

	Score    float64        // 0 to 1
	Latency  time.Duration  // moving average of good answers
	Cooling  time.Duration  // rest of the cooldown or pause; 0: none
	Complete history.Set    // claimed ledgers
	Faults   map[string]int // wrong answers by reason
	Errors   map[string]int // failed requests by response.Code
}

// Report returns a snapshot of all servers, in the order of Config.Servers.
func (p *Pool) Report() []ServerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	all := make([]ServerStats, len(p.servers))
	for i, s := range p.servers {
		r := s.stats
		r.InFlight = s.inFlight
		r.RequestRate, r.ByteRate = s.requests.Limit(now), s.bytes.Limit(now)
		r.RequestEdge, r.ByteEdge = s.requests.LastMax(), s.bytes.LastMax()
		r.Score, r.Latency = s.score(), time.Duration(s.latency*float64(time.Second))
		r.Cooling = max(later(s.until, s.warned.restUntil).Sub(now), 0)
		r.Complete = s.complete
		r.Faults, r.Errors = maps.Clone(r.Faults), maps.Clone(r.Errors)
		all[i] = r
	}
	return all
}

// Network is the id of the network that the servers are of; nil if none says it, or they differ.
func (p *Pool) Network() (id *uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.servers {
		switch {
		case s.network == nil:
		case id == nil:
			id = s.network
		case *id != *s.network:
			return nil
		}
	}
	return id
}

// WaitTimes is how long callers waited in Acquire since New, by why the server that would be ready
// first was not ready.
type WaitTimes struct {
	Requests    time.Duration // its request budget
	Bytes       time.Duration // its byte budget
	RampUp      time.Duration // its rate, which is raised until the server's budget is known
	Connections time.Duration // its limit of concurrent requests
	Cooldown    time.Duration // its cooldown, or a Retry-After
}

type waitTimes struct {
	at    time.Time
	held  reason
	spent [cooldown + 1]time.Duration
}

func (b *waitTimes) pass(now time.Time) {
	if !b.at.IsZero() {
		b.spent[b.held] += now.Sub(b.at)
	}
	b.at = now
}

// WaitTimes returns a snapshot.
func (p *Pool) WaitTimes() WaitTimes {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.waitTimes.pass(now)
	spent := p.waitTimes.spent
	return WaitTimes{
		Requests: spent[byRequests], Bytes: spent[byBytes], RampUp: spent[rampingUp],
		Connections: spent[connections], Cooldown: spent[cooldown],
	}
}
