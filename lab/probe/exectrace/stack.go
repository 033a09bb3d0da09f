package exectrace

import (
	"encoding/binary"
	"strings"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// stack is a call stack, one for all events that have it.
type stack struct {
	handle trace.Stack
	entry  record.Frame // its outermost function; empty: the stack was too deep to be recorded whole
	own    bool         // it is the observer's
}

// deepest is how many frames of a stack the runtime records.
const deepest = 128

// stacks tells stacks apart. Handles do so within a generation, program counters for good.
type stacks struct {
	byHandle map[trace.Stack]*stack
	byPCs    map[string]*stack
	key      []byte
}

// of returns the stack behind a handle; nil: there is none.
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
		s.key = binary.LittleEndian.AppendUint64(s.key, f.PC)
	}
	known, ok := s.byPCs[string(s.key)]
	if ok || len(s.key) == 0 || len(s.byPCs) >= maxStacks {
		return known
	}
	known = newStack(handle)
	s.byPCs[string(s.key)] = known
	return known
}

func newStack(handle trace.Stack) *stack {
	s := &stack{handle: handle}
	depth, last, before := 0, trace.StackFrame{}, trace.StackFrame{}
	for f := range handle.Frames() {
		depth++
		last, before = f, last
		s.own = s.own || observes(f.Func)
	}
	if last.Func == "runtime.main" && before.Func != "" { // which all programs have; main.main says more
		last = before
	}
	if depth < deepest {
		s.entry = frame(last)
		s.own = s.own || traces(last.Func)
	}
	return s
}

// observes says whether a function answers those who look into the process.
func observes(function string) bool {
	return strings.HasPrefix(function, "net/http/pprof.") || strings.HasPrefix(function, "dyno/agent.")
}

// traces says whether a goroutine that was started with the function works for the tracer. That
// package runtime/trace is somewhere on a stack says nothing: so it is below every annotated region.
func traces(entry string) bool {
	return strings.HasPrefix(entry, "runtime/trace.") ||
		strings.HasPrefix(entry, "runtime.(*traceAdvancerState)") || strings.HasPrefix(entry, "runtime.traceStartReadCPU")
}

func frame(f trace.StackFrame) record.Frame {
	return record.Frame{Function: f.Func, File: f.File, Line: int(f.Line)}
}

// frames is the stack as it is recorded.
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
