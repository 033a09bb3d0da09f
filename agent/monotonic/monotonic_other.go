//go:build !linux

package monotonic

import "time"

// absolute falls back to the wall clock at start: still monotonic within a process and comparable
// between processes as long as nobody sets the clock in mid-run.
func absolute() int64 { return time.Now().UnixNano() }
