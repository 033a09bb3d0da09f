//go:build !linux

package perf

import (
	"context"
	"fmt"
	"time"
)

func collect(context.Context, int, time.Duration) ([]sample, error) {
	return nil, fmt.Errorf("%w: only Linux samples one process for another", ErrUnsupported)
}
