//go:build !unix

package http1

// readable cannot tell here: a connection that the server has closed fails the request.
func readable(uintptr) bool { return false }
