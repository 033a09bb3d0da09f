//go:build !linux

package sockets

// AcceptQueues is not available on this system.
func AcceptQueues() []Queue { return nil }

// Connections is not available on this system.
func Connections() []Connection { return nil }
