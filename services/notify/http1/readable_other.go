//go:build !unix

package http1

// readable is not implemented on this system: a connection that the server has closed fails the
// request.
func readable(uintptr) bool { return false }
