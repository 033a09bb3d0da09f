//go:build !linux

package linuxperf

import "errors"

func ownerOf(int) (int, error) { return 0, errors.New("perf is a command of Linux") }
