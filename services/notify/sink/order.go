package sink

import (
	"strconv"
	"sync"
)

// Bounds on what is remembered, by stream (a path and a run).
const (
	maxStreams = 64      // the oldest is forgotten
	maxKeys    = 1 << 20 // keys of one stream; about 100 MB
	maxPages   = 1 << 14 // 2^30 notices of one stream; 128 MB
	pageBits   = 1 << 16
)

// orders checks that the notices of a key come in the order of their numbers, and each once.
type orders struct {
	mu                                sync.Mutex
	streams                           map[string]*order // by path and run
	age                               []string          // the streams, oldest first
	duplicates, violations, unchecked int64
}

// order is one stream's memory.
type order struct {
	last map[string]uint64                 // by key, the highest number so far
	seen map[uint64]*[pageBits / 64]uint64 // one bit a number
}

func (o *orders) check(path string, notices []received) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range notices {
		run, seq, ok := splitID(n.id)
		if !ok || !o.stream(path, run).take(o, n.key, seq) {
			o.unchecked++
		}
	}
}

// stream returns the memory of a path and run.
func (o *orders) stream(path string, run []byte) *order {
	name := append(append(make([]byte, 0, 128), path...), run...)
	if s := o.streams[string(name)]; s != nil {
		return s
	}
	if o.streams == nil {
		o.streams = map[string]*order{}
	}
	if len(o.age) == maxStreams {
		delete(o.streams, o.age[0])
		o.age = append(o.age[:0], o.age[1:]...)
	}
	s := &order{last: map[string]uint64{}, seen: map[uint64]*[pageBits / 64]uint64{}}
	o.streams[string(name)] = s
	o.age = append(o.age, string(name))
	return s
}

// take books one notice; false says that it could not be remembered.
func (s *order) take(o *orders, key []byte, seq uint64) bool {
	page := s.seen[seq/pageBits]
	last, known := s.last[string(key)]
	if page == nil && len(s.seen) == maxPages || !known && len(s.last) == maxKeys {
		return false
	}
	if page == nil {
		page = new([pageBits / 64]uint64)
		s.seen[seq/pageBits] = page
	}
	word, bit := &page[seq%pageBits/64], uint64(1)<<(seq%64)
	switch {
	case *word&bit != 0:
		o.duplicates++
		return true
	case known && seq < last:
		o.violations++
	default:
		s.last[string(key)] = seq
	}
	*word |= bit
	return true
}

// splitID takes RUN-HEX16 apart.
func splitID(id []byte) (run []byte, seq uint64, ok bool) {
	const digits = 16
	at := len(id) - digits - 1
	if at < 1 || id[at] != '-' {
		return nil, 0, false
	}
	seq, err := strconv.ParseUint(string(id[at+1:]), 16, 64)
	return id[:at], seq, err == nil
}

func (o *orders) read(out *Stats) {
	o.mu.Lock()
	defer o.mu.Unlock()
	out.Duplicates, out.Violations, out.Unchecked = o.duplicates, o.violations, o.unchecked
}
