//go:build !linux

package lameduck

// SealSocket does nothing on this system: connections made between the last accept and the close
// are reset.
func SealSocket(int) {}
