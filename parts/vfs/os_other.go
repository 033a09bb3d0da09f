//go:build !linux

package vfs

import "errors"

// Allocate is not supported here: the file grows with every write, which makes syncs slower.
func (osFile) Allocate(int64, int64) error { return errors.ErrUnsupported }

// Fill has nothing to fill.
func (osFile) Fill(int64, int64) error { return nil }
