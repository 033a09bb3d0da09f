//go:build !linux && !darwin

package probe

// hardware is not known here.
func hardware() (cpu, kernel string, memory int64) { return "", "", 0 }
