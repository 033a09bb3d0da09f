package profiling

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"dyno/lab/probe/exectrace"
	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// maxTrace is the maximum size of an execution trace, in bytes. Half a second at 20,000 requests/s
// takes some 10 MB.
const maxTrace = 64 << 20

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

// takeTrace reads the whole trace before it summarizes it, so that summarizing takes no CPU time
// during the trace.
func (i *inspector) takeTrace(ctx context.Context) (*record.Trace, error) {
	body, length, err := shorter(i.Trace, time.Millisecond, func(seconds string, length time.Duration) ([]byte, error) {
		return i.read(ctx, pathTrace+"?seconds="+seconds, length+profileWithin, maxTrace, "go 1.")
	})
	if err != nil {
		return nil, err
	}
	cut := len(body) > maxTrace
	t, err := exectrace.Summarise(bytes.NewReader(body))
	if err != nil && cut {
		return nil, fmt.Errorf("the execution trace of %v is larger than %d bytes; ask for a shorter one: %w", length, maxTrace, err)
	}
	return t, err
}
