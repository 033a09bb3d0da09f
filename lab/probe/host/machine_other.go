//go:build !linux && !darwin

package host

// hardware is not available on this system.
func hardware() (cpu, kernel string, memory int64) { return "", "", 0 }
