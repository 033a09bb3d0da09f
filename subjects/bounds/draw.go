package main

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// draw draws a server's parameters from a seed and stores them with their ranges.
type draw struct {
	random *rand.Rand
	values map[string]int
	ranges map[string][2]int
}

// newDraw makes the draw of a server: the same seed gives two servers different figures.
func newDraw(seed uint64, server string) *draw {
	h := fnv.New64a()
	h.Write([]byte(server))
	return &draw{rand.New(rand.NewPCG(seed, h.Sum64())), map[string]int{}, map[string][2]int{}}
}

// between draws from low to high, both included.
func (d *draw) between(name string, low, high int) int {
	n := low + d.random.IntN(high-low+1)
	d.values[name], d.ranges[name] = n, [2]int{low, high}
	return n
}

// micros draws a duration in microseconds; its name should end in _us.
func (d *draw) micros(name string, low, high int) time.Duration {
	return time.Duration(d.between(name, low, high)) * time.Microsecond
}
