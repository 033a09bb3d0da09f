//go:build !linux && !darwin

package chain

// space is nil where the disk cannot be measured.
func space(string) func() (free, size int64, err error) { return nil }
