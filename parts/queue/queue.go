// Package queue hands values from many producers to many workers: six ways to do one thing, behind one
// interface, so that they can be compared and swapped.
//
//	unbuffered   a channel without a buffer: a value is taken by a worker that waits at that moment, or refused
//	buffered     a channel of Capacity values
//	shards       rings of Capacity/Shards values each, chosen by hash; a worker serves its own shard first
//	round-robin  the same rings, filled in turn: even, but BREAKS THE ORDER of values of one hash
//	ring         one ring that doubles when it is full, up to Capacity
//	swap         a mutex and two slices: producers fill one while workers empty the other
//
// All are bounded and never block a producer: what does not fit is refused, and the producer decides
// what that means. With one worker, values come out in the order in which they went in (of one hash, with
// shards; in no order that can be relied on, with round-robin). With several, two values may be worked on at
// once in any order, so whoever needs order per key queues one lane per key that has work instead of bare
// values: a lane is one value, so what is in it keeps its order in every queue, round-robin too.
//
// It is not for durable queues, for priorities or for delays. It starts no goroutines.
package queue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Queue hands values to workers. All methods but Close may be called by any goroutine at any time.
type Queue[T any] interface {
	// Put offers a value. It never blocks; false says that the value was refused, because there is no
	// room or the queue is closed. Values of one hash share whatever the queue keeps apart.
	Put(hash uint64, v T) bool
	// Take moves values into buf, which must not be empty, and returns how many. It blocks until there
	// is at least one; 0 says that the queue is closed and empty. Workers are numbered from 0, and two
	// goroutines do not take under one number.
	Take(worker int, buf []T) int
	// Len is how many values wait.
	Len() int
	// Close lets Take return 0 once all values are taken. It is called once, after the last Put has
	// returned: a value whose Put overlaps Close may stay behind.
	Close()
	// Stats reads the queue's counters.
	Stats() Stats
}

// Stats is what a queue has seen so far.
type Stats struct {
	Refused uint64 // values that Put turned away
	Growths uint64 // times the memory for values was enlarged
	Waits   uint64 // times a worker found nothing in Take and went to sleep (parked)
	Peak    int    // the most values that ever waited at once (of shards: the sum of their peaks)
	Depths  []int  // values waiting now, by shard; nil when there is but one
}

// Config sizes a queue. The zero Config means the defaults.
type Config struct {
	Capacity int // most values that wait; 0: DefaultCapacity (shards: DefaultShards x DefaultShardCapacity)
	Shards   int // 0: DefaultShards
	Workers  int // how many workers will take; 0: 1
}

// Sizes of the three strategies that the queue experiment compares.
const (
	DefaultCapacity      = 1024
	DefaultShards        = 8
	DefaultShardCapacity = 512
)

// MaxCapacity bounds a queue: 16 million values, 128 MB of pointers.
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

// Constructor makes a queue.
type Constructor[T any] func(Config) Queue[T]

// Constructors names every implementation.
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

// Names lists the implementations, sorted.
func Names() []string { return slices.Sorted(maps.Keys(Constructors[struct{}]())) }

const roundRobin = "round-robin"

// New makes the queue of that name.
func New[T any](name string, c Config) (Queue[T], error) {
	build, ok := Constructors[T]()[name]
	if !ok {
		return nil, fmt.Errorf("no queue is called %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return build(c), nil
}
