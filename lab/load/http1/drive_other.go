//go:build !linux

package http1

import (
	"context"
	"errors"
	"time"

	"dyno/lab/load"
)

func chooseBackend(string) string { return "none" }

// Drive needs Linux.
func (d *Driver) Drive(context.Context, *load.Plan, *load.Recorder) error {
	return errors.New("the raw engine runs on Linux only; use the std engine here")
}

func threadCPU() time.Duration { return 0 }
