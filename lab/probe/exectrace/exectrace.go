// Package exectrace summarizes an execution trace of the Go runtime, as served by
// /debug/pprof/trace: where goroutines spent their time, what they waited for and which goroutine
// woke them. It reads traces of Go 1.22 and later, and most older ones.
//
// It is not for taking traces (profiling) and not for judging them (diagnose). It leaves out the
// goroutines of the observer: the runtime's tracer, the handlers of net/http/pprof and those of
// the agent. A goroutine belongs to the observer if the tracer started it, or if one of its
// stacks goes through such a handler; its waits before that was seen still count.
//
// Memory is bounded, apart from the second of the trace that the reader holds: by limits on the
// number of distinct goroutines, stacks and places of waiting (limits.go). It starts no
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

// Summarise reads a trace to its end. It sums up a trace that breaks off as far as it has whole
// generations (the runtime completes one per second, and one when tracing ends); if it has none,
// the error says why.
func Summarise(r io.Reader) (*record.Trace, error) {
	s := newSummary()
	err := s.read(r)
	switch {
	case err != nil && s.syncs < 2: // a generation is between two
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

// event is what is used of one.
type event struct {
	trace.Event
	transition trace.StateTransition // of EventStateTransition
	span       string                // name of the range of EventRange...
	procs      int                   // GOMAXPROCS, if the EventMetric contains it; else 0
}

// The reader of traces is made for the runtime's own output. Other input may make it panic, and
// this input comes from another process: so open and next, the only callers of the decoder, turn
// its panics into errors.
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
