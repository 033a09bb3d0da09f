// Package queue passes values from many producers to many workers: six implementations of one
// interface, so that they can be compared and swapped.
//
//	unbuffered   a channel without a buffer: a value goes to a worker that is waiting, or is refused
//	buffered     a channel of Capacity values
//	shards       rings of Capacity/Shards values each, chosen by hash; each worker has its own ones
//	round-robin  the same rings, filled in turn: even, but BREAKS THE ORDER of values of one hash
//	ring         one ring that doubles when it is full, up to Capacity
//	swap         a mutex and two slices: producers fill one while workers empty the other
//
// All are bounded and never block a producer: a value without room is refused, and the producer
// decides what that means. With one worker, values come out in the order in which they went in (per
// hash with shards; in no reliable order with round-robin). With several, two values may be
// processed concurrently and in any order. A service that needs order per key therefore queues one
// lane per key with work instead of bare values: a lane is one value, so its contents keep their
// order in every queue, including round-robin.
//
// It is not for durable queues, for priorities or for delays. It starts no goroutines.
package queue

import (
	"maps"
	"slices"

	"dyno/parts/refusal"
)

// Queue passes values to workers. All methods but Close are safe for concurrent use.
type Queue[T any] interface {
	// Put offers a value. It never blocks; false means that the value was refused, because there is no
	// room or the queue is closed. A queue with several parts puts values of one hash into the same
	// part.
	Put(hash uint64, v T) bool
	// Take moves values to buf, which must not be empty, and returns how many. It blocks until there
	// is at least one; 0 means that the queue is closed and empty. Workers are numbered from 0, and
	// two goroutines must not use the same number.
	Take(worker int, buf []T) int
	// Len returns the number of waiting values.
	Len() int
	// Close makes Take return 0 once all values are taken. It is called once, after the last Put has
	// returned: a value whose Put overlaps Close may be left behind.
	Close()
	// Stats returns the queue's counters.
	Stats() Stats
}

// Stats are counters of a queue since its start.
type Stats struct {
	Refused uint64 // values refused by Put
	Growths uint64 // times the memory for values was enlarged
	Waits   uint64 // times a worker found nothing in Take and went to sleep (parked)
	Peak    int    // maximum number of waiting values (of shards: the sum of their maxima)
	Depths  []int  // waiting values now, by shard; nil when there is only one
}

// Config sizes a queue. The zero Config means the defaults.
type Config struct {
	Capacity int // limit of waiting values; 0 means DefaultCapacity (shards: DefaultShards x DefaultShardCapacity)
	Shards   int // 0 means DefaultShards
	Workers  int // number of workers; 0 means 1
}

// Sizes of the three queues that the queue experiment compares.
const (
	DefaultCapacity      = 1024
	DefaultShards        = 8
	DefaultShardCapacity = 512
)

// MaxCapacity limits the capacity of a queue: 16 million values, 128 MB of pointers.
const MaxCapacity = 1 << 24

func (c Config) withDefaults() Config {
	if c.Shards <= 0 {
		c.Shards = DefaultShards
	}
	if c.Capacity <= 0 {
		c.Capacity = DefaultCapacity
	}
	c.Capacity = min(c.Capacity, MaxCapacity)
	c.Workers = max(c.Workers, 1)
	return c
}

// Constructor creates a queue.
type Constructor[T any] func(Config) Queue[T]

// Constructors returns all implementations by name.
func Constructors[T any]() map[string]Constructor[T] {
	return map[string]Constructor[T]{
		"unbuffered": func(Config) Queue[T] { return NewChannel[T](0) },
		"buffered":   func(c Config) Queue[T] { return NewChannel[T](c.withDefaults().Capacity) },
		"shards":     func(c Config) Queue[T] { return NewShards[T](c) },
		roundRobin:   func(c Config) Queue[T] { return NewRoundRobin[T](c) },
		"ring":       func(c Config) Queue[T] { return NewRing[T](c.withDefaults().Capacity) },
		"swap":       func(c Config) Queue[T] { return NewSwap[T](c.withDefaults().Capacity) },
	}
}

// Names returns the implementations' names, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Constructors[struct{}]())) }

const roundRobin = "round-robin"

// New creates the queue with that name.
func New[T any](name string, c Config) (Queue[T], error) {
	build, err := refusal.Pick("queue", Constructors[T](), name)
	if err != nil {
		return nil, err
	}
	return build(c), nil
}
