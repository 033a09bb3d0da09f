package exectrace

import "time"

// What is told apart, at most. A trace of half a second of a service at 20,000 requests/s stays well below.
const (
	maxGoroutines = 100_000 // that live at the same time, some 200 bytes each; of more, only the number is known
	maxStacks     = 20_000  // some 1 kB each; what comes later has no stack
	maxEntries    = 1_000   // functions that goroutines are started with; what comes later has no name
	maxPlaces     = 4_000   // places of waiting; what comes later is summed in Rest
	maxWakers     = 256     // of a place: goroutines that end its waits, and as many stacks of theirs
	maxMet        = 256     // places that are remembered of a goroutine, to count it once at each

	maxShown = 200 // waits and groups in the result
)

// blockedAfter is from when on a system call counts as blocked although nobody took its processor away,
// which the runtime does only when there is other work, or after 10 ms. A write to a socket on loopback
// takes up to some 50 us, the time to deliver it included; a flush to a fast disk takes longer than this.
const blockedAfter = 200 * time.Microsecond
