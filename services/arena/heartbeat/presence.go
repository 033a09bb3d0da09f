package heartbeat

import (
	"sync"
	"sync/atomic"
)

// presence is when players were last heard, in milliseconds since 1970. Its methods may be called
// from any goroutine. It keeps no id that it is given, but a copy.
type presence struct {
	max     int
	mu      sync.RWMutex // which heartbeats of known players share
	players map[string]*atomic.Int64
}

func newPresence(max int) *presence {
	return &presence{max: max, players: map[string]*atomic.Int64{}}
}

// heard is called for each heartbeat; false: the player is new, and there are too many.
func (p *presence) heard(id []byte, at int64) bool {
	if p.again(id, at) {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.players[string(id)]
	if m == nil {
		if len(p.players) >= p.max {
			return false
		}
		m = new(atomic.Int64)
		p.players[string(id)] = m
	}
	advance(m, at)
	return true
}

// again moves the time of a known player on; false: it is not known.
func (p *presence) again(id []byte, at int64) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	m := p.players[string(id)]
	if m == nil {
		return false
	}
	advance(m, at)
	return true
}

// advance moves a time on, never back.
func advance(m *atomic.Int64, at int64) {
	for old := m.Load(); old < at && !m.CompareAndSwap(old, at); old = m.Load() {
	}
}

// count is the number of players that were heard at a time or later.
func (p *presence) count(since int64) (n int) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, m := range p.players {
		if m.Load() >= since {
			n++
		}
	}
	return n
}

// expire forgets players that were not heard since.
func (p *presence) expire(since int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, m := range p.players {
		if m.Load() < since {
			delete(p.players, id)
		}
	}
}
