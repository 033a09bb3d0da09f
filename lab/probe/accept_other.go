//go:build !linux

package probe

// acceptQueues cannot be asked for here.
func acceptQueues() []acceptQueue { return nil }
