//go:build !race

package gobench

const raceEnabled = false
