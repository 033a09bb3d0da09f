// Package perf profiles the CPU use of a process from outside. The kernel samples its threads and
// unwinds their stacks by frame pointers, which Go keeps on amd64 and arm64. The names of functions
// come from the table that every Go binary has for its own stack traces, even a stripped one. So
// the lab can profile a service that serves no net/http/pprof and cannot be restarted.
//
// The package works on Linux, for processes of the same user, where perf_event_open is permitted
// (kernel.perf_event_paranoid at 2 or less, or CAP_PERFMON). An inlined call counts as the function
// that it was inlined into. It is not for the waits of goroutines, which samples of the CPU cannot
// show. It starts no goroutines.
package perf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/pprof/profile"
)

// ErrUnsupported is returned if the kernel cannot or must not sample the process, or if its binary
// has no table of functions.
var ErrUnsupported = errors.New("the process cannot be profiled from outside")

// frequency is the sampling rate of each running thread, in Hz: twice that of runtime/pprof, and
// not in step with timers of 100 Hz.
const frequency = 199

// sample is one sampled stack of addresses, the leaf first.
type sample struct {
	kernel bool // the thread was in the kernel, on behalf of the leaf
	stack  []uint64
}

// Profile samples a process for a while and returns a CPU profile in the encoding of pprof. If it
// could not sample all threads, a comment in the profile has the number of those left out.
func Profile(ctx context.Context, pid int, d time.Duration) ([]byte, error) {
	symbols, err := openSymbols(pid)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	samples, missing, err := collect(ctx, pid, d)
	if err != nil {
		return nil, err
	}
	p := encode(samples, symbols, d)
	if missing != "" {
		p.Comments = []string{missing}
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, fmt.Errorf("encoding a profile: %w", err)
	}
	return b.Bytes(), nil
}

// encode makes a profile from samples. A sample counts for the time between two samples.
func encode(samples []sample, symbols *symbols, d time.Duration) *profile.Profile {
	const period = int64(time.Second) / frequency
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        period,
		DurationNanos: int64(d),
	}
	functions := map[string]*profile.Function{}
	locations := map[string]*profile.Location{}
	locate := func(name, file string, line int) *profile.Location {
		key := fmt.Sprintf("%s:%d", name, line)
		if l := locations[key]; l != nil {
			return l
		}
		f := functions[name]
		if f == nil {
			f = &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name, Filename: file}
			functions[name] = f
			p.Function = append(p.Function, f)
		}
		l := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: f, Line: int64(line)}}}
		locations[key] = l
		p.Location = append(p.Location, l)
		return l
	}
	for _, s := range samples {
		out := &profile.Sample{Value: []int64{1, period}}
		for i, pc := range s.stack {
			if i > 0 {
				pc-- // a return address follows its call
			}
			if name, file, line, ok := symbols.at(pc); ok {
				out.Location = append(out.Location, locate(name, file, line))
			}
		}
		if s.kernel {
			// The thread spent this time in the kernel, whatever brought it there. Without a frame
			// for that (the network poller, a page fault), it would look like computing.
			out.Location = append([]*profile.Location{locate("internal/runtime/syscall.kernel", "", 0)}, out.Location...)
		}
		if len(out.Location) > 0 {
			p.Sample = append(p.Sample, out)
		}
	}
	return p
}
