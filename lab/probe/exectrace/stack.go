package exectrace

import (
	"encoding/binary"
	"strings"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// stack is a call stack. All events with the same stack share it.
type stack struct {
	handle trace.Stack
	entry  record.Frame // its outermost function; empty: unknown, for example in a stack that is recorded in part
	own    bool         // it belongs to the observer
	blocks string       // blocksIn; empty: unknown
	// outside means that the goroutine waits for what is outside of the program: a file, a peer, time
	outside bool
	asleep  bool // the goroutine sleeps here inside the runtime, which the trace shows as a system call
}

// deepest is the maximum number of frames of a stack that the runtime records.
const deepest = 128

// stacks has each distinct stack once. Stacks are equal within a generation if their handles are,
// and across generations if their functions and lines are.
type stacks struct {
	byHandle map[trace.Stack]*stack
	byLines  map[string]*stack
	key      []byte
}

// of returns the stack of a handle; nil: the event has no stack, or there are too many stacks.
func (s *stacks) of(handle trace.Stack) *stack {
	if handle == trace.NoStack {
		return nil
	}
	if known, ok := s.byHandle[handle]; ok {
		return known
	}
	if len(s.byHandle) >= maxStacks {
		clear(s.byHandle)
	}
	found := s.byContent(handle)
	s.byHandle[handle] = found
	return found
}

func (s *stacks) byContent(handle trace.Stack) *stack {
	s.key = s.key[:0]
	for f := range handle.Frames() {
		s.key = append(s.key, f.Func...)
		s.key = binary.LittleEndian.AppendUint64(s.key, f.Line)
	}
	known, ok := s.byLines[string(s.key)]
	if ok || len(s.key) == 0 || len(s.byLines) >= maxStacks {
		return known
	}
	known = newStack(handle)
	s.byLines[string(s.key)] = known
	return known
}

func newStack(handle trace.Stack) *stack {
	s := &stack{handle: handle}
	depth, last, inner := 0, trace.StackFrame{}, trace.StackFrame{}
	for f := range handle.Frames() {
		if depth == 0 {
			s.outside = !record.Synchronises(f.Func)
			s.asleep = f.Func == "runtime.notetsleepg" // where the goroutine of os/signal waits for signals
		}
		if s.blocks == "" && depth > 0 && !record.Synchronises(f.Func) {
			s.blocks = blocksIn(f.Func, last.Func)
		}
		depth++
		last, inner = f, last
		s.own = s.own || observes(f.Func)
	}
	if depth >= deepest {
		return s
	}
	s.own = s.own || traces(last.Func)
	if record.Starts(last.Func) {
		last = inner
	}
	s.entry = frame(last)
	return s
}

// observes reports whether a function is part of a debug handler.
func observes(function string) bool {
	return strings.HasPrefix(function, "net/http/pprof.") || strings.HasPrefix(function, "dyno/agent.")
}

// traces reports whether a goroutine that was started with the function works for the tracer. A
// function of runtime/trace further up the stack does not show that: every annotated region has
// one.
func traces(entry string) bool {
	return strings.HasPrefix(entry, "runtime/trace.") ||
		strings.HasPrefix(entry, "runtime.(*traceAdvancerState)") || strings.HasPrefix(entry, "runtime.traceStartReadCPU")
}

func frame(f trace.StackFrame) record.Frame {
	return record.Frame{Function: f.Func, File: f.File, Line: int(f.Line)}
}

// frames returns the stack in the form of the run record.
func (s *stack) frames() []record.Frame {
	if s == nil {
		return nil
	}
	var out []record.Frame
	for f := range s.handle.Frames() {
		out = append(out, frame(f))
	}
	return out
}
