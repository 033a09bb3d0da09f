package heartbeat

import (
	"sync/atomic"

	"dyno/parts/slots"
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
		return &table{players: slots.New[named](uint32(max))}
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
