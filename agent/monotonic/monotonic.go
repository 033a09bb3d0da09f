// Package monotonic reads the one clock that all processes of a machine share: CLOCK_MONOTONIC,
// in nanoseconds. The load generator stamps its windows with it and the agent its samples, so a
// report can show client and server on one time axis.
//
// It is not for wall-clock times, and its values have no meaning on another machine or after a
// reboot.
package monotonic

import "time"

// base pairs Go's own monotonic reading with the kernel's absolute one, so that Now costs a single
// vDSO read (time.Since) instead of a system call.
var (
	base   = time.Now()
	offset = absolute()
)

// Now returns CLOCK_MONOTONIC in ns.
func Now() int64 { return offset + int64(time.Since(base)) }
