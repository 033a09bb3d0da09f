//go:build !race

package quicktest

// Race says whether the race detector is on. It allocates, and empties pools at random.
const Race = false
