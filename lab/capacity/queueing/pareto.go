package queueing

import (
	"cmp"
	"slices"
)

// Point is a measured queue.
type Point struct {
	Name     string  `json:"name,omitempty"`
	N        int     `json:"n"` // capacity, those in service included
	P99Ms    float64 `json:"p99_ms"`
	DropRate float64 `json:"drop_rate"` // share of arrivals that were dropped
}

// Pareto returns the points that no other point dominates: none has at most the same size, p99 and
// drop rate, and a lower value of one of them. They are ordered by size, then p99, then drop rate.
func Pareto(points []Point) []Point {
	var front []Point
	for _, p := range points {
		if !slices.ContainsFunc(points, func(o Point) bool { return o.beats(p) }) {
			front = append(front, p)
		}
	}
	slices.SortStableFunc(front, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.P99Ms, b.P99Ms), cmp.Compare(a.DropRate, b.DropRate))
	})
	return front
}

func (p Point) beats(o Point) bool {
	return p.N <= o.N && p.P99Ms <= o.P99Ms && p.DropRate <= o.DropRate &&
		(p.N < o.N || p.P99Ms < o.P99Ms || p.DropRate < o.DropRate)
}
