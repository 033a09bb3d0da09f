//go:build !linux

package host

import (
	"context"
	"errors"
)

var errLinuxOnly = errors.New("looked at on Linux only")

func (h *host) bind() {
	h.openFiles, h.selfCPU, h.waitSecond = openFileLimit, processCPU, waitSecond
	h.realtime = func() error { return errLinuxOnly }
	h.uring = func() error { return errLinuxOnly }
	h.wakeups = func(context.Context) (wakeup, error) { return wakeup{}, errLinuxOnly }
}
