//go:build !linux

package probe

// acceptQueues is not available on this system.
func acceptQueues() []acceptQueue { return nil }
