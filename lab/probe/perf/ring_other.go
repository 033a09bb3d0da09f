//go:build !linux

package perf

import (
	"context"
	"fmt"
	"time"
)

func collect(context.Context, int, time.Duration) (out []sample, missing string, err error) {
	return nil, "", fmt.Errorf("%w: only Linux samples one process for another", ErrUnsupported)
}
