package store

import (
	"maps"
	"slices"
	"sync"

	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
)

// maxWaiting is for how many bytes of the packs an answer waits for its proof, before it is forgotten and would have to
// be fetched again: many times what a sync has under way, and what is read at most when a store is opened. An answer
// counts as leastWaiting bytes at least.
const (
	maxWaiting   = 1 << 30
	leastWaiting = 4 << 10
)

// received are the answers that came and wait for their proof. They are in the packs, so that a sync that was killed
// goes on with them.
type received struct {
	mu      sync.Mutex // held while one is written, too: what is before the packs' end is in the map
	last    uint64     // guarded by mu: the highest id given
	written int64      // guarded by mu: bytes that came
	byIndex map[uint32][]*receipt
	byID    map[uint64]*receipt
}

// receipt is an answer that came.
type receipt struct {
	id       uint64
	entry    entry
	server   string
	at       int64 // bytes that had come before
	busy     bool  // it is being proved by this process, or was
	accepted bool  // it is proved
}

func newReceived() received {
	return received{byIndex: map[uint32][]*receipt{}, byID: map[uint64]*receipt{}}
}

// add takes note of an answer. It is called with mu held.
func (r *received) add(e entry, server string) *receipt {
	r.last++
	one := &receipt{id: r.last, entry: e, server: server, at: r.written}
	r.written += max(int64(e.ref.Size), leastWaiting)
	r.byIndex[e.index] = append(r.byIndex[e.index], one)
	r.byID[one.id] = one
	return one
}

// remove forgets one. It is called with mu held.
func (r *received) remove(one *receipt) {
	delete(r.byID, one.id)
	rest := slices.DeleteFunc(r.byIndex[one.entry.index], func(x *receipt) bool { return x == one })
	if r.byIndex[one.entry.index] = rest; len(rest) == 0 {
		delete(r.byIndex, one.entry.index)
	}
}

// settle forgets all of a ledger that is stored. It is called with mu held.
func (r *received) settle(index uint32) {
	for _, one := range r.byIndex[index] {
		delete(r.byID, one.id)
	}
	delete(r.byIndex, index)
}

// stored forgets what is.
func (r *received) stored(ledgers []prepared) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range ledgers {
		r.settle(ledgers[i].index)
	}
}

// position is from where on the packs have to be read again to know what waits: before the oldest, or their end. What
// waits for too long is forgotten. It is called with mu held.
func (r *received) position(end flat.Position) flat.Position {
	for _, one := range r.byID {
		if r.written-one.at > maxWaiting {
			r.remove(one)
			continue
		}
		if p := (flat.Position{File: one.entry.ref.File, Offset: int64(one.entry.ref.Offset)}); p.Before(end) {
			end = p
		}
	}
	return end
}

// Keep writes an answer of a server down before it is proved, so that it need not be fetched again when this process
// dies; a power cut may take it. It sorts its transactions by their place. The id is for Accept and Drop; 0: it was
// not kept, since it is malformed or the disk fails, either of which comes to light elsewhere.
func (s *Store) Keep(server string, l *xrpl.Ledger) (id uint64) {
	h, err := xrpl.ParseHeader(l.Header)
	if err != nil || !s.writable || s.Stored().Has(h.Index) || xrpl.SortByIndex(l.Transactions) != nil || len(l.Transactions) > xrpl.MaxTransactions {
		return 0
	}
	if s.room(bodySize(l)) != nil || s.failure.cause.Load() != nil {
		return 0
	}
	mem := s.scratch.Get().(*scratch)
	defer s.scratch.Put(mem)
	hash := h.Hash()
	mem.frame = s.frameLedger(mem.frame[:0], server, hash, l, mem)
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	ref, err := s.packs.Append(mem.frame)
	if err != nil {
		return 0
	}
	one := s.received.add(entry{h.Index, hash, ref}, server)
	one.busy = true
	return one.id
}

// Take reads an answer that was kept by a process before this one, and has not been proved since. Each is taken once.
func (s *Store) Take(index uint32, into *xrpl.Ledger) (server string, id uint64, ok bool) {
	for {
		one := s.idle(index)
		if one == nil {
			return "", 0, false
		}
		b, err := s.packs.Read(one.entry.ref, nil)
		if err != nil {
			continue
		}
		if _, r, err := parseLedger(b); err == nil && s.into(r, into) == nil {
			return one.server, one.id, true
		}
	}
}

// idle is an answer that is not being proved, which it is from here on.
func (s *Store) idle(index uint32) *receipt {
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	for _, one := range s.received.byIndex[index] {
		if !one.busy && one.server != "" {
			one.busy = true
			return one
		}
	}
	return nil
}

// Accept says that an answer is proved: it is what Append stores of its ledger, without writing it again.
func (s *Store) Accept(id uint64) {
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	if one := s.received.byID[id]; one != nil {
		one.accepted = true
	}
}

// Drop says that an answer was wrong, so that it is not proved again.
func (s *Store) Drop(id uint64) {
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	if one := s.received.byID[id]; one != nil {
		s.received.remove(one)
		s.packs.Append(frameWrong(one.entry.ref)) // else it is proved, and found wrong, once more
	}
}

// accepted is where the answer is that is stored of a ledger.
func (s *Store) accepted(index uint32, hash xrpl.Hash) (flat.Ref, bool) {
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	for _, one := range s.received.byIndex[index] {
		if one.accepted && one.entry.hash == hash {
			return one.entry.ref, true
		}
	}
	return flat.Ref{}, false
}

// Received is which ledgers came and wait for their proof, in ascending order.
func (s *Store) Received() []uint32 {
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	return slices.Sorted(maps.Keys(s.received.byIndex))
}
