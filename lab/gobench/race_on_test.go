//go:build race

package gobench

const raceEnabled = true
