package queue

import "sync/atomic"

// RoundRobin is Shards filled in turn, independent of the hashes: a skewed key does not unbalance
// it. The price is order: values of one hash are in different shards, so they come out in any order
// even with one worker. A lane keeps its own order, since a lane with work is one value.
type RoundRobin[T any] struct {
	*Shards[T]
	puts atomic.Uint64
}

// NewRoundRobin returns c.Shards rings with a total capacity of c.Capacity values. It does NOT keep
// the order of values of one hash.
func NewRoundRobin[T any](c Config) *RoundRobin[T] {
	return &RoundRobin[T]{Shards: NewShards[T](c)}
}

func (q *RoundRobin[T]) Put(_ uint64, v T) bool { return q.Shards.Put(q.puts.Add(1), v) }
