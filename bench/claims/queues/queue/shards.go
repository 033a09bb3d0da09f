package queue

import (
	"sync"
	"sync/atomic"
)

// Shards distributes values to rings by their hash. A worker starts its search at one of its own
// shards (those equal to its number modulo the number of workers, in turn) and continues with the
// others; every eighth time it starts at any shard. A skewed key therefore unbalances the shards,
// but no shard starves, for any number of workers and even if the owner of a shard is blocked.
type Shards[T any] struct {
	shards  []shard[T]
	turns   []turn       // by worker
	waiting atomic.Int64 // values in all shards
	closed  atomic.Bool
	refused atomic.Uint64

	sleepers atomic.Int64 // incremented before a worker's last check, so that a Put cannot miss it
	mu       sync.Mutex
	filled   sync.Cond
	waits    uint64 // guarded by mu
}

type shard[T any] struct {
	mu     sync.Mutex
	values buffer[T] // guarded by mu
	_      [64]byte  // puts the locks of two shards on different cache lines
}

// turn counts a worker's calls of Take; only that worker uses it.
type turn struct {
	n uint64
	_ [56]byte // one cache line each
}

// elsewhere is how often a worker starts at another worker's shard: often enough that a shard whose
// owner is blocked gets an eighth of the other workers, rarely enough that shards stay separate.
const elsewhere = 8

// NewShards returns c.Shards rings with a total capacity of c.Capacity values.
func NewShards[T any](c Config) *Shards[T] {
	total := c.Capacity
	if c = c.withDefaults(); total <= 0 {
		total = c.Shards * DefaultShardCapacity
	}
	q := &Shards[T]{shards: make([]shard[T], c.Shards), turns: make([]turn, c.Workers)}
	q.filled.L = &q.mu
	for i := range q.shards {
		q.shards[i].values.cap = max(1, min(total, MaxCapacity)/c.Shards)
	}
	return q
}

func (q *Shards[T]) Put(hash uint64, v T) bool {
	s := &q.shards[hash%uint64(len(q.shards))]
	s.mu.Lock()
	ok := !q.closed.Load() && s.values.push(v)
	if ok {
		q.waiting.Add(1)
	}
	s.mu.Unlock()
	if !ok {
		q.refused.Add(1)
		return false
	}
	if q.sleepers.Load() > 0 {
		q.mu.Lock() // not between a worker's last check and its sleep
		q.filled.Signal()
		q.mu.Unlock()
	}
	return true
}

func (q *Shards[T]) Take(worker int, buf []T) int {
	for {
		ended := q.closed.Load() // read before the shards: after Close no value is added
		if n := q.take(worker, buf); n > 0 || ended {
			return n
		}
		q.mu.Lock()
		q.sleepers.Add(1)
		for q.waiting.Load() == 0 && !q.closed.Load() {
			q.waits++
			q.filled.Wait()
		}
		q.sleepers.Add(-1)
		q.mu.Unlock()
	}
}

// take moves the values of one shard: the first non-empty one, starting at this worker's turn.
func (q *Shards[T]) take(worker int, buf []T) int {
	n := uint64(len(q.shards))
	start := q.start(worker % len(q.turns))
	for i := range n {
		if k := q.pop((start+i)%n, buf); k > 0 {
			return k
		}
	}
	return 0
}

func (q *Shards[T]) start(worker int) uint64 {
	t := &q.turns[worker]
	t.n++
	if t.n%elsewhere == 0 {
		return t.n / elsewhere
	}
	return uint64(worker) + t.n*uint64(len(q.turns)) // modulo the number of shards: the next of its own
}

func (q *Shards[T]) pop(i uint64, buf []T) int {
	s := &q.shards[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.values.pop(buf)
	if k > 0 {
		q.waiting.Add(-int64(k))
	}
	return k
}

func (q *Shards[T]) Len() int { return int(q.waiting.Load()) }

func (q *Shards[T]) Close() {
	for i := range q.shards { // afterwards no Put is between its check and its push
		q.shards[i].mu.Lock()
	}
	q.closed.Store(true)
	for i := range q.shards {
		q.shards[i].mu.Unlock()
	}
	q.mu.Lock()
	q.filled.Broadcast()
	q.mu.Unlock()
}

func (q *Shards[T]) Stats() Stats {
	q.mu.Lock()
	out := Stats{Refused: q.refused.Load(), Waits: q.waits}
	q.mu.Unlock()
	for i := range q.shards {
		s := &q.shards[i]
		s.mu.Lock()
		out.Growths += s.values.growths
		out.Peak += s.values.peak
		out.Depths = append(out.Depths, s.values.n)
		s.mu.Unlock()
	}
	return out
}
