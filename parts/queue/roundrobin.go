package queue

import "sync/atomic"

// RoundRobin is Shards that are filled in turn, whatever the hashes: a skewed key costs no balance. The
// price is order. Values of one hash lie in different shards, so they come out in any order even with one
// worker. A lane keeps its own, since a lane that has work is one value.
type RoundRobin[T any] struct {
	*Shards[T]
	puts atomic.Uint64
}

// NewRoundRobin returns c.Shards rings that hold c.Capacity values between them. It does NOT keep the
// order of values of one hash.
func NewRoundRobin[T any](c Config) *RoundRobin[T] {
	return &RoundRobin[T]{Shards: NewShards[T](c)}
}

func (q *RoundRobin[T]) Put(_ uint64, v T) bool { return q.Shards.Put(q.puts.Add(1), v) }
