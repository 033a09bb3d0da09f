package stacks

import (
	"math"
	"strings"
	"testing"

	"dyno/lab/record"
)

// stackOf makes a stack of text: the leaf first, "<" before each caller. A function of the
// service's own is in a file with its package's name.
func stackOf(stack string) []record.Frame {
	var out []record.Frame
	for f := range strings.SplitSeq(stack, " < ") {
		frame := record.Frame{Function: f}
		if strings.HasPrefix(f, "main.") {
			frame.File, frame.Line = "/src/shop/main.go", 10+len(f)
		}
		out = append(out, frame)
	}
	return out
}

const handler = " < main.handle < net/http.HandlerFunc.ServeHTTP < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve"

// line makes a stack in which the frame of one function has the given line.
func line(stack, function string, at int) []record.Frame {
	out := stackOf(stack)
	for i := range out {
		if out[i].Function == function {
			out[i].Line = at
		}
	}
	return out
}

// Requests wait for a lock that its holder keeps during an fsync: the deferred unlock's line is the
// closing brace, and the costly call is at line 68.
func fsyncing() (*record.Run, *record.Trace, []record.Wait) {
	const create = "main.(*server).create"
	waits := []record.Wait{{Reason: "sync", Stack: line("sync.(*Mutex).Lock < "+create+handler, create, 65), Seconds: 10,
		WokenBy: line("sync.(*Mutex).Unlock < "+create+handler, create, 71)}}
	trace := &record.Trace{Seconds: 0.5, Waits: append(waits,
		record.Wait{Reason: "system call", Stack: line("syscall.Fsync < internal/poll.(*FD).Fsync < os.(*File).Sync < "+create+handler, create, 68), Seconds: 0.3},
		// before the lock is acquired
		record.Wait{Reason: "network", Stack: line("internal/poll.(*FD).Read < io.ReadAll < "+create+handler, create, 60), Seconds: 9})}
	cpu := &record.Profile{Type: record.ValueCPU, Seconds: 2, Stacks: []record.Stack{
		{Frames: line("encoding/json.Marshal < "+create+handler, create, 67), Value: 0.4e9},
		{Frames: line("encoding/json.Unmarshal < "+create+handler, create, 61), Value: 3e9}}}
	return &record.Run{FixtureProfiles: []*record.Profile{cpu}}, trace, waits
}

func TestHolderOf(t *testing.T) {
	r, trace, waits := fsyncing()
	h, ok := HolderOf(r, trace, waits)
	if !ok || h.Function != "main.(*server).create" || h.Line != 71 {
		t.Fatalf("%v %+v", ok, h)
	}
	if h.Costs == nil || h.Costs.Line != 68 || h.Calls != "os.(*File).Sync" || h.Costs.Share < 0.74 || h.Costs.Share > 0.76 {
		t.Errorf("it costs %+v, calling %q", h.Costs, h.Calls)
	}
	if said := h.Doing(); !strings.Contains(said, "75% of the time is spent in os.(*File).Sync, called at main.go:68") {
		t.Errorf("%q", said)
	}
	// 0.3 s of half a second in the fsync, and 0.2 s of each second computing before it.
	if math.Abs(h.Busy-0.8) > 1e-9 || math.Abs(h.Computes-0.2) > 1e-9 {
		t.Errorf("held %v of the time, %v computing", h.Busy, h.Computes)
	}
	if _, ok := HolderOf(r, trace, nil); ok {
		t.Error("a holder without an unlock")
	}
}

// Several readers may hold a lock at the same time, so how long it is held bounds nothing.
func TestHolderOfReaders(t *testing.T) {
	r, trace, waits := fsyncing()
	waits[0].WokenBy = append([]record.Frame{{Function: "sync.(*RWMutex).RUnlock"}}, waits[0].WokenBy[1:]...)
	if h, ok := HolderOf(r, trace, waits); !ok || h.Busy != 0 || h.Costs == nil {
		t.Errorf("%v %+v", ok, h)
	}
}

// No statement is named where the profiles show none.
func TestHolderOfUnseen(t *testing.T) {
	r, trace, waits := fsyncing()
	r.FixtureProfiles, trace.Waits = nil, waits
	if h, ok := HolderOf(r, trace, waits); !ok || h.Costs != nil || h.Doing() != "" {
		t.Errorf("%v %+v", ok, h)
	}
}

// If no function dominates, the deepest one with half of it below is named.
func TestHalf(t *testing.T) {
	const root = "main.route < main.serve"
	var of []record.Stack
	for _, leaf := range []string{"main.a", "main.b", "main.c", "main.d", "main.e", "main.f"} {
		of = append(of, record.Stack{Frames: stackOf(leaf + " < main.render < " + root), Value: 1})
	}
	of = append(of, record.Stack{Frames: stackOf("main.parse < " + root), Value: 4})
	p, ok := HalfSite(of, 10)
	if !ok || p.Function != "main.render" || p.Share != 0.6 || !p.Cumulative {
		t.Errorf("%v %+v", ok, p)
	}
	if p, ok := HalfSite([]record.Stack{{Frames: stackOf("runtime.mallocgc"), Value: 1}}, 1); ok {
		t.Errorf("of the runtime: %+v", p)
	}
	if p, ok := HalfSite(nil, 0); ok {
		t.Errorf("of nothing: %+v", p)
	}
}

// A site is the line with most of its function's cost, and not the line that was seen first.
func TestSiteIsTheHeaviestLine(t *testing.T) {
	at := func(value float64, line int, stack string) record.Stack {
		s := record.Stack{Frames: stackOf(stack), Value: value}
		for i := range s.Frames {
			s.Frames[i].Line = line
		}
		return s
	}
	var own, behind []record.Stack
	for _, s := range []struct {
		value float64
		line  int
	}{{5, 40}, {30, 55}, {20, 41}, {40, 55}} {
		own = append(own, at(s.value, s.line, "runtime.mapassign < main.count"+handler))
		behind = append(behind, at(s.value, s.line, "runtime.mapassign < example.org/lib.Count < net/http.HandlerFunc.ServeHTTP < main.counted"))
	}
	for name, of := range map[string][]record.Stack{"own": own, "behind a middleware": behind} {
		if got := Sites(of); len(got) != 1 || got[0].Line != 55 || got[0].Share < 0.999 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, ok := HalfSite(own, Sum(own)); !ok || got.Line != 55 {
		t.Errorf("with its callees: %+v", got)
	}
}

// A branch is reached through the functions that nearly all of its stacks have; a middleware is
// neither on the path nor the branch itself.
func TestPath(t *testing.T) {
	const root = " < main.query < main.list < main.handle < net/http.HandlerFunc.ServeHTTP < main.logged.func1 < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
	var of []record.Stack
	for _, leaf := range []string{"main.a", "main.b", "main.c < main.sometimes"} {
		of = append(of, record.Stack{Frames: stackOf(leaf + root), Value: 1})
	}
	if got := strings.Join(Path(of, "main.query"), " "); got != "main.handle main.list main.query" {
		t.Errorf("%q", got)
	}
	if got := Path(of, "main.absent"); len(got) != 0 {
		t.Errorf("%q", got)
	}
	of = nil // many handlers, each with little
	for _, route := range []string{"a", "b", "c", "d", "e", "f"} {
		of = append(of, record.Stack{Frames: stackOf("main." + route + " < net/http.HandlerFunc.ServeHTTP < main.logged.func1"), Value: 1})
	}
	if p, ok := HalfSite(of, 6); ok {
		t.Errorf("a middleware: %+v", p)
	}
}
