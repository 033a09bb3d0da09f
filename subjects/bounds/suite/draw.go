package suite

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// Draw draws a server's parameters from a seed and stores them with their ranges.
type Draw struct {
	random *rand.Rand
	Values map[string]int
	Ranges map[string][2]int
	// Scale multiplies drawn values, by name; nil: none.
	Scale map[string]float64
}

// NewDraw makes the draw of a server: the same seed gives two servers different figures.
func NewDraw(seed uint64, server string) *Draw {
	h := fnv.New64a()
	h.Write([]byte(server))
	return &Draw{rand.New(rand.NewPCG(seed, h.Sum64())), map[string]int{}, map[string][2]int{}, nil}
}

// Between draws from low to high, both included.
func (d *Draw) Between(name string, low, high int) int {
	n := low + d.random.IntN(high-low+1)
	if times, scaled := d.Scale[name]; scaled {
		n = max(1, int(math.Round(float64(n)*times)))
	}
	d.Values[name], d.Ranges[name] = n, [2]int{low, high}
	return n
}

// Micros draws a duration in microseconds; its name should end in _us.
func (d *Draw) Micros(name string, low, high int) time.Duration {
	return time.Duration(d.Between(name, low, high)) * time.Microsecond
}
