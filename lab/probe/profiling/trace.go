package profiling

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"dyno/lab/probe/exectrace"
	"dyno/lab/record"
	"dyno/lab/record/folder"
)

const (
	// maxTrace is the maximum size of an execution trace, in bytes. Half a second at 20,000
	// requests/s takes some 10 MB.
	maxTrace = 64 << 20
	// firstTrace is the length of the first piece, whose size says whether the full length fits.
	firstTrace = 100 * time.Millisecond
	// traceWithin is the time limit for an answer, in addition to the trace's length.
	traceWithin = 6 * time.Second
)

// trace takes an execution trace and summarizes it; nil: there is none, and its entry among the
// files has the reason.
func (i *inspector) trace(ctx context.Context) *record.Trace {
	t, err := i.takeTrace(ctx)
	if err == nil {
		err = folder.WriteTrace(i.Dir, t)
	}
	if err != nil {
		i.files = append(i.files, record.ProfileFile{Kind: record.ProfileTrace, Why: err.Error()})
		return nil
	}
	return t
}

func (i *inspector) traceLimit() int { return cmp.Or(i.maxTrace, maxTrace) }

// takeTrace takes a short piece, a shorter one if that is too large, and then the full length unless
// that would be too large. If the last fails, the first still shows where requests wait.
func (i *inspector) takeTrace(ctx context.Context) (*record.Trace, error) {
	first := min(firstTrace, i.Trace)
	short, size, err := i.piece(ctx, first)
	for err != nil && size > i.traceLimit() && first/2 >= leastLength {
		first /= 2
		short, size, err = i.piece(ctx, first)
	}
	if err != nil || first == i.Trace {
		return short, err
	}
	full := min(i.Trace, time.Duration(float64(first)*float64(i.traceLimit())/2/float64(max(size, 1))))
	if full < 2*first {
		return short, nil
	}
	if long, _, err := i.piece(ctx, full); err == nil {
		return long, nil
	}
	return short, nil
}

// piece reads a whole trace before it summarizes it, so that summarizing takes no CPU time during
// the trace. It also returns the trace's size.
func (i *inspector) piece(ctx context.Context, length time.Duration) (*record.Trace, int, error) {
	body, length, err := shorter(length, time.Millisecond, func(seconds string, length time.Duration) ([]byte, error) {
		return i.read(ctx, pathTrace+"?seconds="+seconds, length+traceWithin, int64(i.traceLimit()), "go 1.")
	})
	if err != nil {
		return nil, 0, err
	}
	size := len(body)
	t, err := exectrace.Summarise(bytes.NewReader(body))
	if err != nil && size > i.traceLimit() {
		return nil, size, fmt.Errorf("the execution trace of %v is larger than %d bytes; ask for a shorter one: %w", length, i.traceLimit(), err)
	}
	return t, size, err
}
