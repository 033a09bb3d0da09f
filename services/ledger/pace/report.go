package pace

import (
	"maps"
	"time"

	"dyno/services/ledger/history"
)

// maxReasons bounds how many reasons for blame are told apart.
const maxReasons = 32

// Standing is how things stand with a server.
type Standing struct {
	Server   string
	Requests uint64 // that are over
	Good     uint64 // of them
	Bytes    uint64
	Slowed   uint64 // answered with slowDown
	Warned   uint64 // answered with a warning of the limit
	InFlight int

	RequestRate float64 // requests/s that are permitted now
	ByteRate    float64 // bytes/s that are permitted now
	RequestEdge float64 // requests/s at which its budget was last met; 0: it was not
	ByteEdge    float64 // bytes/s likewise

	Score    float64       // 0 to 1
	Latency  time.Duration // average of the last answers
	Cooling  time.Duration // until it is asked again; 0: it may be now
	Complete history.Set   // the ledgers that it says it has
	Blamed   map[string]int
	Troubles map[string]int // by rippled.Kind
}

// Report is a snapshot, in the order in which the servers were given.
func (p *Pool) Report() []Standing {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	all := make([]Standing, len(p.servers))
	for i, s := range p.servers {
		r := s.standing
		r.InFlight = s.inFlight
		r.RequestRate, r.ByteRate = s.requests.Limit(now), s.bytes.Limit(now)
		r.RequestEdge, r.ByteEdge = s.requests.LastMax(), s.bytes.LastMax()
		r.Score, r.Latency = s.score(), time.Duration(s.took*float64(time.Second))
		r.Cooling = max(later(s.until, s.warned.resting).Sub(now), 0)
		r.Complete = s.complete
		r.Blamed, r.Troubles = maps.Clone(r.Blamed), maps.Clone(r.Troubles)
		all[i] = r
	}
	return all
}

// Binding is for how long, since New, somebody waited in Acquire, by what held the server that was to be ready first.
type Binding struct {
	Requests    time.Duration // a budget of requests/s
	Bytes       time.Duration // a budget of bytes/s
	Rising      time.Duration // the rate, which is raised as long as the server does not say what its budget is
	Connections time.Duration // as many under way as may be
	Trouble     time.Duration // all cooled down, or obeyed a Retry-After
}

type binding struct {
	at    time.Time
	held  reason
	spent [trouble + 1]time.Duration
}

// pass counts the time since the last call.
func (b *binding) pass(now time.Time) {
	if !b.at.IsZero() {
		b.spent[b.held] += now.Sub(b.at)
	}
	b.at = now
}

// Binding is a snapshot.
func (p *Pool) Binding() Binding {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.binding.pass(now)
	spent := p.binding.spent
	return Binding{
		Requests: spent[byRequests], Bytes: spent[byBytes], Rising: spent[rising],
		Connections: spent[connections], Trouble: spent[trouble],
	}
}
