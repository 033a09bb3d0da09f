// Package exectrace sums up an execution trace of the Go runtime, as /debug/pprof/trace gives it: where
// goroutines spent their time, what they waited for and who woke them. Traces of Go 1.22 and later are
// read, and so are most older ones.
//
// It is not for taking traces (probe) and not for judging what they say (diagnose). The goroutines of the
// observer are left out: the runtime's tracer, the handlers of net/http/pprof and those of the agent. A
// goroutine belongs to the observer when it was started by the tracer, or when one of its stacks goes
// through such a handler; where it had waited before it was seen there still counts.
//
// Memory is bounded, besides the second of the trace that the reader holds at a time: by the goroutines,
// stacks and places of waiting that are told apart (limits.go). It starts no goroutines.
package exectrace

import (
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// Summarise reads a trace to its end. One that breaks off is summed up as far as whole generations of it
// go (the runtime completes one a second, and one when tracing ends); the error says why there is none.
func Summarise(r io.Reader) (*record.Trace, error) {
	s := newSummary()
	err := s.read(r)
	switch {
	case err != nil && s.syncs < 2: // a generation lies between two
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
	procs      int                   // GOMAXPROCS, where EventMetric tells it; else 0
}

// The reader of traces is made for what the runtime writes. Where it is given something else it may panic,
// and what it is given here comes from another process: so a panic of its own becomes an error, here and
// in next, which together hold all that decodes.
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
