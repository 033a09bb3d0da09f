package heartbeat

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"dyno/parts/slots"
)

// table is moments in slots, and names that lead to them. A heartbeat of a known player takes no
// lock and allocates nothing. What changes with each heartbeat is in the slots; names never change.
type table struct {
	seed    maphash.Seed
	players *slots.Table[moment]

	mu    sync.Mutex // held to add a name
	used  int        // of the names' places, also by players that are gone
	names atomic.Pointer[[]place]
}

// place is one of a power of two of them, of which at most half are used: a name is at its hash or
// at the next place that was free.
type place = atomic.Pointer[name]

type name struct {
	hash uint64
	key  slots.Key // of a slot that is gone once its player was forgotten
	id   string
}

const fewest = 1 << 10 // places

func newTable(max int) *table {
	t := &table{seed: maphash.MakeSeed(), players: slots.New[moment](uint32(max))}
	t.names.Store(new(make([]place, fewest)))
	return t
}

// find returns a name, and its place or the free one where it belongs.
func find(names []place, hash uint64, id []byte) (*name, *place) {
	for i := hash; ; i++ {
		p := &names[i&uint64(len(names)-1)]
		n := p.Load()
		if n == nil || n.hash == hash && n.id == string(id) {
			return n, p
		}
	}
}

// moment returns a player's; nil: there is none.
func (t *table) moment(hash uint64, id []byte) *moment {
	n, _ := find(*t.names.Load(), hash, id)
	if n == nil {
		return nil
	}
	return t.players.Get(n.key)
}

func (t *table) heard(id []byte, at int64) bool {
	hash := maphash.Bytes(t.seed, id)
	if m := t.moment(hash, id); m != nil && m.hear(at) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.moment(hash, id); m != nil && m.hear(at) {
		return true // another has added it
	}
	key, ok := t.players.Put(newMoment(at))
	if !ok {
		return false
	}
	if names := *t.names.Load(); 2*t.used >= len(names) {
		t.grow(len(names))
	}
	old, p := find(*t.names.Load(), hash, id)
	if old == nil {
		t.used++
	}
	p.Store(&name{hash, key, string(id)})
	return true
}

// grow makes places for twice the players that there are, with the names of those.
func (t *table) grow(places int) {
	for places < 4*t.players.Len() {
		places *= 2
	}
	fresh := make([]place, places)
	t.used = 0
	for i := range *t.names.Load() {
		n := (*t.names.Load())[i].Load()
		if n == nil || t.players.Get(n.key) == nil {
			continue
		}
		_, p := find(fresh, n.hash, []byte(n.id))
		p.Store(n)
		t.used++
	}
	t.names.Store(&fresh)
}

func (t *table) count(since int64) (n int) {
	for _, m := range t.players.All() {
		if m.ms.Load() >= since {
			n++
		}
	}
	return n
}

func (t *table) expire(since int64) {
	for key, m := range t.players.All() {
		if m.end(since) {
			t.players.Delete(key)
		}
	}
}
