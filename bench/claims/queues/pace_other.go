//go:build !linux

package main

import (
	"time"

	"dyno/agent/monotonic"
)

func preparePacing() (before int) { return 0 }

func restorePacing(int) {}

// sleepUntil sleeps with the runtime's timers, which may be a millisecond late.
func sleepUntil(at int64) { time.Sleep(time.Duration(at - monotonic.Now())) }
