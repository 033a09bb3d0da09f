//go:build !linux

package awake

import (
	"context"
	"errors"
)

// Keep is for Linux only.
func Keep(context.Context) error { return errors.New("CPUs are kept awake on Linux only") }
