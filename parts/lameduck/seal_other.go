//go:build !linux

package lameduck

// SealSocket does nothing here: a connection that is made between the last accept and the close is reset.
func SealSocket(int) {}
