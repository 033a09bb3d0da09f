//go:build !linux

package sockets

// AcceptQueues is not available on this system.
func AcceptQueues() []Queue { return nil }
