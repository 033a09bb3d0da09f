//go:build !race

package notify

const raceAllocs = 0
