//go:build !linux

package probe

func processClock(int) (float64, bool) { return 0, false }
