package heartbeat

import (
	"sync"
	"sync/atomic"

	"dyno/parts/slots"
)

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

// table is moments in slots, and names that lead to them: what changes with each heartbeat is apart
// from what does not. A connection that kept its player's key would need no name.
type table struct {
	players *slots.Table[named]
	names   sync.Map // string -> slots.Key
}

type named struct {
	moment
	id string
}

func (t *table) heard(id []byte, at int64) bool {
	for {
		key, known := t.names.Load(string(id))
		if known {
			if p := t.players.Get(key.(slots.Key)); p != nil && p.hear(at) {
				return true
			}
			t.names.CompareAndDelete(string(id), key)
		}
		p := &named{id: string(id)}
		p.ms.Store(at)
		fresh, ok := t.players.Put(p)
		if !ok {
			return false
		}
		if _, other := t.names.LoadOrStore(p.id, fresh); !other {
			return true
		}
		t.players.Delete(fresh)
	}
}

func (t *table) count(since int64) (n int) {
	for _, p := range t.players.All() {
		if p.ms.Load() >= since {
			n++
		}
	}
	return n
}

func (t *table) expire(since int64) {
	for key, p := range t.players.All() {
		if p.end(since) {
			t.names.CompareAndDelete(p.id, key)
			t.players.Delete(key)
		}
	}
}
