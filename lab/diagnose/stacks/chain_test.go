package stacks

import (
	"slices"
	"testing"

	"dyno/lab/record"
)

// As in the leader of a replicated log: requests wait for the goroutine that applies entries, that
// one for a loop, and the loop for the goroutine that writes to the disk.
func TestChain(t *testing.T) {
	frames := func(functions ...string) (out []record.Frame) {
		for _, f := range functions {
			out = append(out, record.Frame{Function: f, File: "/src/shop/main.go"})
		}
		return out
	}
	const group = "sync.(*WaitGroup).Go.func1"
	requests := record.Wait{Reason: "select", Seconds: 30, Count: 800, Goroutines: 64, WokenBy: frames("main.answer", "main.applied", "main.apply", "main.run.func1", group),
		Stack: frames("runtime.selectgo", "main.propose", "net/http.HandlerFunc.ServeHTTP", "net/http.(*conn).serve")}
	applies := record.Wait{Reason: "select", Seconds: 0.8, Count: 800, Goroutines: 1, WokenBy: frames("main.deliver", "main.drive", "main.run.func2", group),
		Stack: frames("runtime.selectgo", "main.apply", "main.run.func1", group)}
	drives := record.Wait{Reason: "chan receive", Seconds: 0.7, Count: 800, Goroutines: 1, WokenBy: frames("main.synced", "main.log"),
		Stack: frames("runtime.chanrecv1", "main.append", "main.drive", "main.run.func2", group)}
	syncs := record.Wait{Reason: "system call", Seconds: 0.6, Count: 800, Goroutines: 1, Stack: frames("syscall.Fsync", "os.(*File).Sync", "main.sync", "main.log")}
	// The same goroutine waits more briefly elsewhere, nearer the place at which it ends waits.
	briefly := record.Wait{Reason: "sync", Seconds: 0.1, Count: 9, Goroutines: 1, Stack: frames("sync.(*Mutex).Lock", "main.deliver", "main.drive", "main.run.func2", group)}
	idles := record.Wait{Reason: "select", Seconds: 1, Count: 800, Goroutines: 1, Stack: frames("runtime.selectgo", "main.watch", "main.run.func3", group)}
	// The answer comes through a reader from a goroutine that sleeps once for each.
	replies := record.Wait{Reason: "sleep", Seconds: 0.99, Count: 790, Goroutines: 1, Stack: frames("time.Sleep", "main.reply", "main.run.func4")}
	sweeps := record.Wait{Reason: "sleep", Seconds: 0.99, Count: 100, Goroutines: 1, Stack: frames("time.Sleep", "main.sweep", "main.run.func5")}
	several := record.Wait{Reason: "select", Seconds: 0.9, Goroutines: 2, Stack: frames("runtime.selectgo", "main.apply", "main.run.func1", group)}
	with := func(w record.Wait, change func(*record.Wait)) record.Wait { change(&w); return w }
	// A program that is all dependencies: its goroutines are known by the function they run.
	imported := func(functions ...string) (out []record.Frame) {
		for _, f := range functions {
			out = append(out, record.Frame{Function: f, File: "/root/go/pkg/mod/example.com/log@v1.0.0/log.go"})
		}
		return out
	}
	asks := with(requests, func(w *record.Wait) { w.WokenBy = imported("example.com/log.apply", "example.com/log.run") })
	runs := record.Wait{Entry: record.Frame{Function: "example.com/log.run"}, Reason: "select", Seconds: 0.9, Count: 90, Goroutines: 1, Stack: imported("runtime.selectgo", "example.com/log.run"), WokenBy: imported("example.com/log.save")}
	saves := record.Wait{Entry: record.Frame{Function: "example.com/log.save"}, Reason: "system call", Seconds: 0.6, Count: 90, Goroutines: 1, Stack: imported("syscall.Fdatasync", "example.com/log.sync", "example.com/log.save")}
	groups := []record.Group{{Entry: record.Frame{Function: "example.com/log.run"}, Goroutines: 1}, {Entry: record.Frame{Function: "example.com/log.save"}, Goroutines: 1}}
	var through []string
	for _, hop := range Chain(asks, &record.Trace{Seconds: 1, Procs: 2, Groups: groups, Waits: []record.Wait{asks, runs, saves}}) {
		through = append(through, hop.By.Function)
	}
	if !slices.Equal(through, []string{"example.com/log.run", "example.com/log.save"}) {
		t.Errorf("through dependencies: %q", through)
	}
	// An answer that a client of a library passes on.
	passed := with(asks, func(w *record.Wait) { w.WokenBy = imported("example.com/client.deliver", "example.com/client.read") })
	double := with(sweeps, func(w *record.Wait) { w.Count = 800 })
	for _, c := range []struct {
		others []record.Wait
		want   string
	}{{[]record.Wait{sweeps, replies}, "main.reply"}, {[]record.Wait{double, replies}, ""}} {
		got := ""
		for _, hop := range Chain(passed, &record.Trace{Seconds: 1, Procs: 2, Waits: append(c.others, passed)}) {
			got += hop.By.Function
		}
		if got != c.want {
			t.Errorf("at the same rate: %q, want %q", got, c.want)
		}
	}
	for _, c := range []struct {
		name  string
		waits []record.Wait
		want  []string
	}{
		{"to the disk", []record.Wait{idles, several, requests, applies, briefly, drives, syncs}, []string{"main.apply", "main.drive", "main.log"}},
		{"to a goroutine that works", []record.Wait{requests, applies, with(drives, func(w *record.Wait) { w.Seconds = 0.2 }), syncs}, []string{"main.apply"}},
		{"to requests", []record.Wait{requests, with(applies, func(w *record.Wait) { w.WokenBy = requests.Stack })}, []string{"main.apply"}},
		{"of what was not seen to wait", []record.Wait{requests, idles, drives, syncs}, nil},
		{"to a goroutine that was not seen, at the same rate as another", []record.Wait{requests, replies}, nil},
		{"in a circle", []record.Wait{requests, with(applies, func(w *record.Wait) { w.WokenBy = requests.WokenBy })}, []string{"main.apply"}},
	} {
		var got []string
		for _, hop := range Chain(requests, &record.Trace{Seconds: 1, Waits: c.waits}) {
			got = append(got, hop.By.Function)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
