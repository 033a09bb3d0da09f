//go:build !linux

package load

import (
	"time"

	"dyno/agent/monotonic"
)

func preparePacing() {}

// sleepUntil is as precise as Go's timers, often 1 ms late.
func sleepUntil(at int64) { time.Sleep(time.Duration(at - monotonic.Now())) }
