package usage

import (
	"time"

	"dyno/agent/monotonic"
)

const (
	// prompt is the longest time of a reading whose figures count as those of one instant. A process
	// that waits for a CPU may be interrupted between the clock and the figures for a second: then
	// the figures are those of a later instant, and the next reading shows almost no use.
	prompt = int64(20 * time.Millisecond)
	// attempts is the number of readings to get one that is prompt.
	attempts = 3
)

// Promptly takes a reading whose figures belong to its instant.
func Promptly(read func(now int64) Reading) Reading {
	return promptly(read, func(r *Reading, late int64) { r.At += late })
}

// promptly reads until a reading was prompt. The last counts for the middle of the time that it took.
func promptly[T any](read func(now int64) T, shift func(r *T, late int64)) T {
	for n := 1; ; n++ {
		began := monotonic.Now()
		r := read(began)
		took := monotonic.Now() - began
		if took > prompt && n < attempts {
			continue
		}
		shift(&r, took/2)
		return r
	}
}
