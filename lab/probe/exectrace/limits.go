package exectrace

import "time"

// Limits on the number of distinct items. Half a second of a service at 20,000 requests/s stays
// well below them.
const (
	maxGoroutines = 100_000 // alive at the same time, some 200 bytes each; further ones are only counted
	maxStacks     = 20_000  // some 1 kB each; further ones have no stack
	maxEntries    = 1_000   // functions that goroutines are started with; further ones have no name
	maxPlaces     = 4_000   // places of waiting; further ones are summed in Rest
	maxWakers     = 256     // per place: goroutines that ended waits there; the same number of their stacks
	maxParts      = 2_000   // per function that waits: separate times in which it did; of older ones only the sum is kept
	maxMet        = 256     // per goroutine: places that it is remembered at, so that each counts it once

	maxShown = 200 // waits and groups in the result
)

// blockedAfter is the duration from which a system call counts as blocked even if its thread kept
// its processor. The runtime takes the processor away only when there is other work, or after 10
// ms. A write to a socket on loopback takes up to some 50 us, including its delivery; a flush to a
// fast disk takes longer than blockedAfter.
const blockedAfter = 200 * time.Microsecond
