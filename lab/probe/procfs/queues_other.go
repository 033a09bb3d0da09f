//go:build !linux

package procfs

// AcceptQueues is not available on this system.
func AcceptQueues() []Queue { return nil }

// Connections is not available on this system.
func Connections() []Connection { return nil }
