//go:build !linux

package segment

import "errors"

// Allocate does nothing here: the file grows with every write, at the price of a slower sync.
func (osFile) Allocate(int64, int64) error { return errors.ErrUnsupported }
