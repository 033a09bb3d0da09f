//go:build !linux

package monotonic

import "time"

// absolute falls back to the wall clock at start: still monotonic within a process, and
// comparable between processes as long as the clock is not set during a run.
func absolute() int64 { return time.Now().UnixNano() }
