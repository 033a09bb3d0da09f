package chain

import "runtime/debug"

// ballastBytes count as live memory for Go's collector. They are never touched, so they take none.
// Some 20 MB live in a node, and 1,000 transfers allocate 4 MB: without ballast the collector would
// run after each 5,000 of them.
const ballastBytes = 64 << 20

// ballast returns what is kept for as long as the service runs; nil if the process may have little
// memory: a limit (GOMEMLIMIT) counts the ballast.
func ballast() []byte {
	if debug.SetMemoryLimit(-1) < 8*ballastBytes {
		return nil
	}
	return make([]byte, ballastBytes)
}
