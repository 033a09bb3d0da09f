//go:build !linux

package usage

func processClock(int) (float64, bool) { return 0, false }
