package stacks

import (
	"testing"

	"dyno/lab/record"
)

// A lock that a library takes and releases within one call of the service is held by that call, and
// what the library does meanwhile is found within it.
func TestHolderInALibrary(t *testing.T) {
	at := func(functions ...record.Frame) []record.Frame { return functions }
	frame := func(function, file string, line int) record.Frame {
		return record.Frame{Function: function, File: file, Line: line}
	}
	handler, update := frame("main.put", "/src/main.go", 86), "example.com/store.(*DB).Update"
	serve := frame("net/http.HandlerFunc.ServeHTTP", "/go/src/net/http/server.go", 2300)
	in := func(line int) record.Frame {
		return frame(update, "/root/go/pkg/mod/example.com/store@v1.0.0/db.go", line)
	}
	lock := record.Wait{Reason: "sync", Seconds: 30, Count: 50, Goroutines: 32,
		Stack:   at(frame("sync.(*Mutex).Lock", "", 1), in(10), handler, serve),
		WokenBy: at(frame("sync.(*Mutex).Unlock", "", 1), frame("example.com/store.(*Tx).Commit", "", 7), in(20), handler, serve)}
	sync := record.Wait{Reason: "system call", Seconds: 0.9, Count: 50, Goroutines: 32,
		Stack: at(frame("syscall.Fdatasync", "", 1), frame("example.com/store.(*Tx).Commit", "", 5), in(20), handler, serve)}
	before := record.Wait{Reason: "sleep", Seconds: 5, Count: 50, Goroutines: 32, Stack: at(frame("time.Sleep", "", 1), in(5), handler, serve)}
	trace := &record.Trace{Seconds: 1, Waits: []record.Wait{lock, sync, before}}
	h, ok := HolderOf(&record.Run{Dir: t.TempDir()}, trace, []record.Wait{lock})
	if !ok || h.Function != "main.put" || h.Awaits != WaitDisk || h.Calls != "example.com/store.(*Tx).Commit" || h.Costs == nil || h.Costs.Line != 86 || h.Busy != 0.9 {
		t.Errorf("%+v, costs %+v", h, h.Costs)
	}
	want := "; while it is held, 100% of the time is spent in example.com/store.(*Tx).Commit, below main.go:86, most of it waiting for a file"
	if h.Doing() != want {
		t.Errorf("%s", h.Doing())
	}
	// Nor is anything different while no wait ends: the holder is the one that is further in the call.
	lock.WokenBy, lock.Count, trace.Procs = nil, 0, 2
	trace.Waits[0] = lock
	h, ok = HolderOf(&record.Run{Dir: t.TempDir()}, trace, []record.Wait{lock})
	if !ok || h.Function != "main.put" || h.Doing() != want {
		t.Errorf("%+v, %s", h, h.Doing())
	}
}
