package main

import (
	"math"
	"sort"
)

// keyCount is how many different keys the messages have.
const keyCount = 1024

// keys draws keys: up to each is the share of the messages whose key is that or one before. Nil:
// all keys are alike.
type keys []float64

// newKeys returns keys whose k-th comes in proportion to k^-zipf.
func newKeys(zipf float64) keys {
	if zipf == 0 {
		return nil
	}
	up := make(keys, keyCount)
	sum := 0.0
	for k := range up {
		sum += math.Pow(float64(k+1), -zipf)
		up[k] = sum
	}
	for k := range up {
		up[k] /= sum
	}
	return up
}

// of returns the key that an evenly spread number draws. As a hash it puts the most frequent keys
// on different shards, so that what shows is the skew and not which keys happen to share one.
func (k keys) of(number uint64) uint64 {
	if k == nil {
		return number % keyCount
	}
	const mantissa = 53 // bits of a float64
	share := float64(number>>(64-mantissa)) / (1 << mantissa)
	return uint64(min(sort.Search(len(k), func(i int) bool { return k[i] > share }), keyCount-1))
}
