// Package exectrace summarizes an execution trace of the Go runtime, as /debug/pprof/trace serves
// it: where goroutines spent their time, what they waited for, and which goroutine woke them. It
// reads traces of Go 1.22 and later, and most older ones.
//
// It is not for taking traces (profiling), nor for judging them (diagnose). It leaves out the
// goroutines of the observer: those of the runtime's tracer, of the handlers of net/http/pprof and
// of the handlers of the agent. A goroutine belongs to the observer if the tracer started it, or if
// one of its stacks contains such a handler; waits before the first such stack still count.
//
// Memory is bounded by limits on the number of distinct goroutines, stacks and places of waiting
// (limits.go), except for the second of the trace that the reader holds. The package starts no
// goroutines.
package exectrace

import (
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// Summarise reads a trace to its end. Of a trace that breaks off, it summarizes the whole
// generations (the runtime completes one per second, and one when tracing ends); if there is none,
// the error says why.
func Summarise(r io.Reader) (*record.Trace, error) {
	s := newSummary()
	err := s.read(r)
	switch {
	case err != nil && s.syncs < 2: // a whole generation lies between two of them
		return nil, fmt.Errorf("the execution trace cannot be read, or breaks off before its first whole part: %w", err)
	case s.now <= s.start:
		return nil, errors.New("the execution trace is empty")
	}
	return s.result(), nil
}

func (s *summary) read(r io.Reader) error {
	in, err := open(r)
	if err != nil {
		return err
	}
	for {
		e, err := next(in)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		s.take(e)
	}
}

// event is an event of a trace, with its decoded details.
type event struct {
	trace.Event
	transition trace.StateTransition // of EventStateTransition
	span       string                // name of the range of EventRange...
	procs      int                   // GOMAXPROCS, if the EventMetric contains it; else 0
}

// open and next are the only callers of the trace decoder, and turn its panics into errors. The
// decoder is made for the output of the runtime in the same program, and other input may make it
// panic; this input comes from another process.
func open(r io.Reader) (in *trace.Reader, err error) {
	defer recovered(&err)
	return trace.NewReader(r)
}

func next(in *trace.Reader) (e event, err error) {
	defer recovered(&err)
	if e.Event, err = in.ReadEvent(); err != nil {
		return e, err
	}
	switch e.Kind() {
	case trace.EventStateTransition:
		e.transition = e.StateTransition()
	case trace.EventRangeBegin, trace.EventRangeActive, trace.EventRangeEnd:
		e.span = e.Range().Name
	case trace.EventMetric:
		if m := e.Metric(); m.Name == "/sched/gomaxprocs:threads" {
			e.procs = int(min(m.Value.Uint64(), math.MaxInt32))
		}
	}
	return e, nil
}

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it is malformed: %v", p)
	}
}
