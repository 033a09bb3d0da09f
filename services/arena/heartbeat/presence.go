package heartbeat

import (
	"sync"
	"sync/atomic"
)

// registry is when players were last heard, in milliseconds since 1970. Its methods may be called
// from any goroutine. It keeps no id that it is given, but a copy.
type registry interface {
	// heard is called for each heartbeat; false: the player is new, and there are too many.
	heard(id []byte, at int64) bool
	// count is the number of players that were heard at a time or later.
	count(since int64) int
	// expire forgets players that were not heard since.
	expire(since int64)
}

func newRegistry(name string, max int) registry {
	switch name {
	case "syncmap":
		return &syncMap{max: int64(max)}
	case "slots":
		return newTable(max)
	}
	return &locked{max: max, players: map[string]*moment{}}
}

// moment is when a player was last heard.
type moment struct{ ms atomic.Int64 }

// gone is a moment that is no longer in the registry: what finds it must look again.
const gone = -1

// hear moves a moment on; false: it is gone.
func (m *moment) hear(at int64) bool {
	for {
		old := m.ms.Load()
		if old == gone {
			return false
		}
		if old >= at || m.ms.CompareAndSwap(old, at) {
			return true
		}
	}
}

// end reports whether a moment was before a time, and is gone from now on.
func (m *moment) end(since int64) bool {
	old := m.ms.Load()
	return old < since && m.ms.CompareAndSwap(old, gone)
}

func newMoment(at int64) *moment {
	m := new(moment)
	m.ms.Store(at)
	return m
}

// locked is a map under a lock, which a heartbeat of a known player shares with others.
type locked struct {
	max     int
	mu      sync.RWMutex
	players map[string]*moment
}

func (l *locked) heard(id []byte, at int64) bool {
	if l.again(id, at) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.players[string(id)]; m != nil {
		return m.hear(at)
	}
	if len(l.players) >= l.max {
		return false
	}
	l.players[string(id)] = newMoment(at)
	return true
}

func (l *locked) again(id []byte, at int64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	m := l.players[string(id)]
	return m != nil && m.hear(at)
}

func (l *locked) count(since int64) (n int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, m := range l.players {
		if m.ms.Load() >= since {
			n++
		}
	}
	return n
}

func (l *locked) expire(since int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, m := range l.players {
		if m.ms.Load() < since {
			delete(l.players, id)
		}
	}
}

// syncMap is the standard library's map for concurrent use.
type syncMap struct {
	max     int64
	size    atomic.Int64
	players sync.Map // string -> *moment
}

func (s *syncMap) heard(id []byte, at int64) bool {
	for {
		if m, ok := s.players.Load(string(id)); ok && m.(*moment).hear(at) {
			return true
		}
		if s.size.Add(1) > s.max {
			s.size.Add(-1)
			return false
		}
		if _, other := s.players.LoadOrStore(string(id), newMoment(at)); !other {
			return true
		}
		s.size.Add(-1) // another has stored it, or one that is gone is about to be deleted
	}
}

func (s *syncMap) count(since int64) (n int) {
	for _, m := range s.players.Range {
		if m.(*moment).ms.Load() >= since {
			n++
		}
	}
	return n
}

func (s *syncMap) expire(since int64) {
	for id, m := range s.players.Range {
		if m.(*moment).end(since) {
			s.players.Delete(id)
			s.size.Add(-1)
		}
	}
}
