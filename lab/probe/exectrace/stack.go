package exectrace

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/exp/trace"

	"dyno/lab/record"
)

// stack is a call stack, shared by all events that have it.
type stack struct {
	handle trace.Stack
	entry  record.Frame // its outermost function; empty: unknown, for example too deep to be recorded whole
	own    bool         // it belongs to the observer
	asleep bool         // the runtime put the thread to sleep here, which looks like a system call
}

// deepest is the number of frames of a stack that the runtime records.
const deepest = 128

// stacks identifies stacks: within a generation by their handles, across generations by functions
// and lines.
type stacks struct {
	byHandle map[trace.Stack]*stack
	byLines  map[string]*stack
	key      []byte
}

// of returns the stack of a handle; nil: there is none.
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
			s.asleep = f.Func == "runtime.notetsleepg" // where the goroutine that receives signals waits
		}
		depth++
		last, inner = f, last
		s.own = s.own || observes(f.Func)
	}
	if depth >= deepest {
		return s
	}
	s.own = s.own || traces(last.Func)
	if slices.Contains(starters, last.Func) {
		last = inner
	}
	s.entry = frame(last)
	return s
}

// starters start goroutines for all sorts of code. Such goroutines are named by the function that
// they call.
var starters = []string{
	"sync.(*WaitGroup).Go.func1",
	"golang.org/x/sync/errgroup.(*Group).Go.func1",
	"golang.org/x/sync/errgroup.(*Group).TryGo.func1",
}

// observes reports whether a function serves observers of the process.
func observes(function string) bool {
	return strings.HasPrefix(function, "net/http/pprof.") || strings.HasPrefix(function, "dyno/agent.")
}

// traces reports whether a goroutine that was started with the function works for the tracer.
// Package runtime/trace on a stack is no sign of that: it is below every annotated region.
func traces(entry string) bool {
	return strings.HasPrefix(entry, "runtime/trace.") ||
		strings.HasPrefix(entry, "runtime.(*traceAdvancerState)") || strings.HasPrefix(entry, "runtime.traceStartReadCPU")
}

func frame(f trace.StackFrame) record.Frame {
	return record.Frame{Function: f.Func, File: f.File, Line: int(f.Line)}
}

// frames returns the recorded form of the stack.
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
