//go:build race

package notify

// raceAllocs is what a request allocates more under the race detector, which empties pools.
const raceAllocs = 1
