package chain

import "runtime/debug"

// ballastBytes count as live memory for Go's collector. They are never touched, so they take none
// themselves, but the heap grows to twice as much before it is collected: a node has up to 128 MiB
// more in use. Without them, some 10 to 20 MB live in it and 1,000 transfers allocate 4 MB, so that
// under load the collector runs several times a second.
const ballastBytes = 64 << 20

// ballast returns what is kept for as long as the service runs; nil if the process may have little
// memory: a limit (GOMEMLIMIT) counts the ballast.
func ballast() []byte {
	if debug.SetMemoryLimit(-1) < 8*ballastBytes {
		return nil
	}
	return make([]byte, ballastBytes)
}
