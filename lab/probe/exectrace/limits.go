package exectrace

import "time"

// Limits on distinct items. A trace of half a second of a service at 20,000 requests/s stays well
// below.
const (
	maxGoroutines = 100_000 // living concurrently, some 200 bytes each; further ones are only counted
	maxStacks     = 20_000  // some 1 kB each; further ones have no stack
	maxEntries    = 1_000   // functions that goroutines are started with; further ones have no name
	maxPlaces     = 4_000   // places of waiting; further ones are summed in Rest
	maxWakers     = 256     // per place: goroutines that end its waits, and as many of their stacks
	maxMet        = 256     // per goroutine: remembered places, to count it once at each

	maxShown = 200 // waits and groups in the result
)

// blockedAfter is the duration from which a system call counts as blocked although the thread
// kept its processor, which the runtime takes away only when there is other work, or after 10 ms.
// A write to a socket on loopback takes up to some 50 us, the time to deliver it included; a
// flush to a fast disk takes longer than this.
const blockedAfter = 200 * time.Microsecond
