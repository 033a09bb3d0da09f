package store

import (
	"maps"
	"slices"
	"sync"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
)

// maxWaiting is the number of bytes written to the packs after which an unproved answer is dropped,
// and would be fetched again: many times what a sync has in progress, and the maximum that is read
// when a store is opened. An answer counts as leastWaiting bytes at least.
const (
	maxWaiting   = 1 << 30
	leastWaiting = 4 << 10
)

// received are the answers that wait for their proof. They are in the packs, so that a sync that
// was killed continues with them.
type received struct {
	mu      sync.Mutex // also held during writes: all answers before the packs' end are in the map
	last    uint64     // guarded by mu: the highest id so far
	written int64      // guarded by mu: bytes of answers so far
	byIndex map[uint32][]*receipt
	byID    map[uint64]*receipt
}

type receipt struct {
	id       uint64
	entry    record.Entry
	server   string
	at       int64 // bytes of answers before it
	busy     bool  // this process has taken it
	accepted bool  // proved
}

func newReceived() received {
	return received{byIndex: map[uint32][]*receipt{}, byID: map[uint64]*receipt{}}
}

// add records an answer. The caller holds mu.
func (r *received) add(e record.Entry, server string) *receipt {
	r.last++
	one := &receipt{id: r.last, entry: e, server: server, at: r.written}
	r.written += max(int64(e.Ref.Size), leastWaiting)
	r.byIndex[e.Index] = append(r.byIndex[e.Index], one)
	r.byID[one.id] = one
	return one
}

// remove drops an answer. The caller holds mu.
func (r *received) remove(one *receipt) {
	delete(r.byID, one.id)
	rest := slices.DeleteFunc(r.byIndex[one.entry.Index], func(x *receipt) bool { return x == one })
	if r.byIndex[one.entry.Index] = rest; len(rest) == 0 {
		delete(r.byIndex, one.entry.Index)
	}
}

// settle drops all answers for a stored ledger. The caller holds mu.
func (r *received) settle(index uint32) {
	for _, one := range r.byIndex[index] {
		delete(r.byID, one.id)
	}
	delete(r.byIndex, index)
}

func (r *received) stored(ledgers []prepared) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range ledgers {
		r.settle(ledgers[i].Index)
	}
}

// position is where the packs must be read from to find the waiting answers: before the oldest, or
// their end. It drops answers that have waited for too long. The caller holds mu.
func (r *received) position(end flat.Position) flat.Position {
	for _, one := range r.byID {
		if r.written-one.at > maxWaiting {
			r.remove(one)
			continue
		}
		if p := (flat.Position{File: one.entry.Ref.File, Offset: int64(one.entry.Ref.Offset)}); p.Before(end) {
			end = p
		}
	}
	return end
}

// Keep writes a server's answer before it is proved, so that it need not be fetched again if this
// process dies; a power cut may lose it. It sorts the answer's transactions by their place. The id
// is for Accept and Drop; 0 means that it was not kept because it is malformed or the disk fails,
// which other calls report.
func (s *Store) Keep(server string, l *xrpl.Ledger) (id uint64) {
	h, err := xrpl.ParseHeader(l.Header)
	if err != nil || !s.writable || s.Stored().Has(h.Index) || xrpl.SortByIndex(l.Transactions) != nil || len(l.Transactions) > xrpl.MaxTransactions {
		return 0
	}
	if s.room(record.Size(l)) != nil || s.index.Failed() {
		return 0
	}
	mem := s.scratch.Get().(*scratch)
	defer s.scratch.Put(mem)
	hash := h.Hash()
	mem.frame = s.codec.FrameLedger(mem.frame[:0], server, hash, l, &mem.body)
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	ref, err := s.packs.Append(mem.frame)
	if err != nil {
		return 0
	}
	one := s.received.add(record.Entry{Index: h.Index, Hash: hash, Ref: ref}, server)
	one.busy = true
	return one.id
}

// Take reads an answer that an earlier process kept and that is not proved yet, each once.
func (s *Store) Take(index uint32, into *xrpl.Ledger) (server string, id uint64, ok bool) {
	for {
		one := s.idle(index)
		if one == nil {
			return "", 0, false
		}
		b, err := s.packs.Read(one.entry.Ref, nil)
		if err != nil {
			continue
		}
		if _, r, err := record.ParseLedger(b); err == nil && s.codec.Read(r, into) == nil {
			return one.server, one.id, true
		}
	}
}

// idle returns an answer that this process has not taken, and marks it as taken.
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

// Accept says that an answer is proved: Append stores it for its ledger, without writing it again.
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
		s.packs.Append(record.FrameWrong(one.entry.Ref)) // without this record it would be proved again
	}
}

func (s *Store) accepted(index uint32, hash xrpl.Hash) (flat.Ref, bool) {
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	for _, one := range s.received.byIndex[index] {
		if one.accepted && one.entry.Hash == hash {
			return one.entry.Ref, true
		}
	}
	return flat.Ref{}, false
}

// Received is the indexes of answers that wait for their proof, in ascending order.
func (s *Store) Received() []uint32 {
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	return slices.Sorted(maps.Keys(s.received.byIndex))
}
