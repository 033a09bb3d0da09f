package made

import (
	"sync"
	"sync/atomic"
)

// Cursors are written by two sides.
type Cursors struct {
	head atomic.Int64
	tail atomic.Int64
}

func (c *Cursors) Put()  { c.head.Add(1) }
func (c *Cursors) Take() { c.tail.Add(1) }

// Apart is the same, mended.
type Apart struct {
	head atomic.Int64
	_    [64]byte
	tail atomic.Int64
}

func (c *Apart) Put()  { c.head.Add(1) }
func (c *Apart) Take() { c.tail.Add(1) }

// Guarded has its lock beside what it guards, which is as it should be.
type Guarded struct {
	mu   sync.Mutex
	n    int
	seen atomic.Int64
	part part
}

type part struct{ n int }

func (p *part) add() { p.n++ }

func (g *Guarded) Add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	g.seen.Add(1)
	g.part.add()
}

// Old counts with functions, and embeds its lock.
type Old struct {
	sync.Mutex
	hits, misses int64
}

func (o *Old) Hit()  { atomic.AddInt64(&o.hits, 1) }
func (o *Old) Miss() { atomic.AddInt64(&o.misses, 1) }
func (o *Old) Both() {
	o.Lock()
	o.Unlock()
}

// Counted has a counter of one goroutine beside the lock of others.
type Counted struct {
	mu    sync.Mutex
	ticks int
}

func (c *Counted) Use() {
	c.mu.Lock()
	c.mu.Unlock()
}

func (c *Counted) Run() {
	go func() {
		c.ticks++
	}()
}

// Config is read beside what is written.
type Config struct {
	name   string
	served atomic.Int64
}

func NewConfig() *Config {
	c := &Config{name: "x"}
	c.served.Store(1)
	return c
}

func (c *Config) Name() string { return c.name }
func (c *Config) Serve()       { c.served.Add(1) }

// Flagged is closed once, which does not cause lasting contention.
type Flagged struct {
	name   string
	closed atomic.Bool
}

func (f *Flagged) Name() string { return f.name }
func (f *Flagged) Finish()      { f.closed.Store(true) }

// Shard is an element that shares its line with the next.
type Shard[T any] struct {
	mu     sync.Mutex
	values []T
}

func (s *Shard[T]) Put(v T) {
	s.mu.Lock()
	s.values = append(s.values, v)
	s.mu.Unlock()
}

type Shards[T any] struct{ all []Shard[T] }

func (s *Shards[T]) Put(i int, v T) { s.all[i].Put(v) }

// Padded shards keep apart by a pad that is long enough wherever they begin.
type Padded struct {
	mu sync.Mutex
	n  int
	_  [64]byte
}

func (p *Padded) Add() {
	p.mu.Lock()
	p.n++
	p.mu.Unlock()
}

var (
	padded  [8]Padded
	buckets [16]atomic.Uint64
	one     [1]atomic.Uint64
)

// Wasteful is larger than it need be.
type Wasteful struct {
	a bool
	b int64
	c bool
	d int64
	e bool
}

// Slot depends on what it holds.
type Slot[T any] struct {
	used bool
	v    T
	last bool
}
