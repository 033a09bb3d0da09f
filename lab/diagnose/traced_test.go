package diagnose

import (
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// C code computes and uses all of the CPU: the CPU bounds it, although the trace shows system calls.
func TestDiagnoseComputingInC(t *testing.T) {
	runs := append(sweep(900, 1000, 1000), profiled(32, 1000,
		[]record.Stack{stack(3.8e9, append([]string{"runtime.cgocall", "main._Cfunc_step", "main.query"}, handler...)...)},
		wait("system call", 31, "main._Cfunc_step", "main.query")))
	for _, r := range runs {
		r.System.TargetCPU = 1.9
	}
	if d := NewSubject("v", runs).Diagnose(rules.Defaults); d.Bottleneck != rules.CPU {
		t.Errorf("%s %s: %s", d.Bottleneck, d.Kind, d.Text)
	}
}

// born are the goroutines of a function that were started in the trace, with the time of each.
func born(function string, n int, each float64) record.Group {
	return record.Group{Entry: record.Frame{Function: function}, Goroutines: n, Started: n, Waiting: each * float64(n)}
}

// Requests wait for goroutines that are started for each of them, or for each batch of them: their waits
// are followed.
func TestDiagnoseWaitsOfShortGoroutines(t *testing.T) {
	of := func(entry, reason string, seconds float64, n int, functions ...string) record.Wait {
		return record.Wait{Reason: reason, Seconds: seconds, Count: int64(n), Goroutines: n, Entry: record.Frame{Function: entry}, Stack: stack(0, functions...).Frames}
	}
	by := func(w record.Wait, functions ...string) record.Wait {
		w.WokenBy, w.Wakers = stack(0, functions...).Frames, 256
		return w
	}
	const started = "sync.(*WaitGroup).Go.func1"
	group := by(wait("sync", 31, "sync.(*WaitGroup).Wait", "main.fan"), "sync.(*WaitGroup).Add", "sync.(*WaitGroup).Done", "sync.(*WaitGroup).Go.func1.1", started)
	asks := of("main.fan.func1", "select", 15.8, 1600, "runtime.selectgo", "net/http.(*persistConn).roundTrip", "main.ask", "main.fan.func1", started)
	hands := by(wait("select", 31, "runtime.selectgo", "main.write"), "runtime.chansend1", "main.write.func1")
	stores := by(of("main.write.func1", "chan receive", 15, 1600, "runtime.chanrecv1", "main.(*wal).store", "main.write.func1"), "runtime.chansend1", "main.(*wal).flush", "main.(*wal).store.gowrap1")
	syncs := of("main.(*wal).store.gowrap1", "system call", 0.45, 200, "syscall.Fsync", "os.(*File).Sync", "main.(*wal).flush", "main.(*wal).store.gowrap1")
	syncs.Any = 0.45
	together := syncs
	together.Seconds = 4.5
	answers := by(wait("chan receive", 31, "runtime.chanrecv1", "main.(*wal).store"), "runtime.chansend1", "main.(*wal).flush", "main.(*wal).store.gowrap1")
	idles := by(of("main.work", "chan receive", 7, 1600, "runtime.chanrecv1", "main.next", "main.work"), "runtime.chansend1", "main.feed")
	idles.Goroutines = 16
	polls := of("main.feed", "sleep", 0.45, 40, "time.Sleep", "main.poll", "main.feed")
	polls.Goroutines = 1
	for _, c := range []struct {
		name    string
		waits   []record.Wait
		groups  []record.Group
		says    string
		syncing bool
	}{
		{"a fan-out", []record.Wait{group, asks}, []record.Group{born("main.fan.func1", 1600, 0.01)}, "It ends when main.fan.func1 (main.go:7) answers, which itself waits 99% of the time in main.ask", false},
		{"a write, handed to a goroutine, and a batch", []record.Wait{hands, stores, syncs}, []record.Group{born("main.write.func1", 1600, 0.01), born("main.(*wal).store.gowrap1", 200, 0.0025)},
			"It ends when main.write.func1 (main.go:7) answers, which itself waits 94% of the time in main.(*wal).store (main.go:7), for main.(*wal).flush, which itself waits 90% of the time.", true},
		{"a batch", []record.Wait{answers, syncs}, []record.Group{born("main.(*wal).store.gowrap1", 200, 0.0025)}, "It ends when main.(*wal).flush (main.go:7) answers, which itself waits 90% of the time.", true},
		{"batches that sync together are several", []record.Wait{hands, stores, together}, []record.Group{born("main.write.func1", 1600, 0.01), born("main.(*wal).store.gowrap1", 1600, 0.1)}, "", false},
		{"a goroutine that mostly computes", []record.Wait{group, asks}, []record.Group{born("main.fan.func1", 1600, 0.03)}, "", false},
		{"workers that wait for work", []record.Wait{by(wait("chan receive", 31, "runtime.chanrecv1", "main.do"), "runtime.chansend1", "main.work"), idles, polls}, []record.Group{{Entry: record.Frame{Function: "main.work"}, Goroutines: 16, Waiting: 8}}, "", false},
	} {
		run := profiled(32, 200, nil, c.waits...)
		run.FixtureTrace.Groups = append(run.FixtureTrace.Groups, c.groups...)
		d := NewSubject("v", append(sweep(100, 200, 200), run)).Diagnose(rules.Defaults)
		if _, syncing := d.Signals[rules.Syncing]; syncing != c.syncing || strings.Contains(d.Text, "It ends when") != (c.says != "") || !strings.Contains(d.Text, c.says) {
			t.Errorf("%s: syncing %t: %s", c.name, syncing, d.Text)
		}
	}
}

// Sessions over WebSockets whose handlers read the next message wait for nothing, and ask no downstream; a
// stream of which the client sends slowly waits for it.
func TestDiagnoseBetweenMessages(t *testing.T) {
	imported := func(reason string, functions ...string) record.Wait {
		w := wait(reason, 31, functions...)
		w.Stack[len(functions)-2].File = "/root/go/pkg/mod/library@v1.0.0/library.go"
		return w
	}
	reads := imported("network", "internal/poll.(*FD).Read", "net.(*conn).Read", "github.com/gorilla/websocket.(*Conn).ReadMessage", "main.chat")
	run := profiled(32, 200, nil, reads)
	run.Load.Kind = record.KindSessions
	d := NewSubject("v", append(sweep(100, 200, 200), run)).Diagnose(rules.Defaults)
	if d.Bottleneck == rules.Wait || d.Signals[rules.WaitTop] != 0 {
		t.Errorf("%s %s: %s", d.Bottleneck, d.Kind, d.Text)
	}
	run = profiled(32, 200, nil, imported("select", "runtime.selectgo", "google.golang.org/grpc/internal/transport.(*recvBufferReader).read", "main.take"))
	d = NewSubject("v", append(sweep(100, 200, 200), run)).Diagnose(rules.Defaults)
	if d.Bottleneck != rules.Generator || d.Signals[rules.WaitTop] != 0 {
		t.Errorf("%s %s: %s", d.Bottleneck, d.Kind, d.Text)
	}
}

// A batch of bbolt syncs its pages and then what points to them: two waits of one goroutine.
func TestDiagnoseABatchThatSyncsTwice(t *testing.T) {
	const batch, entry = "go.etcd.io/bbolt.(*batch).run", "go.etcd.io/bbolt.(*batch).trigger"
	imported := func(functions ...string) []record.Frame {
		frames := stack(0, functions...).Frames
		for i := range frames {
			frames[i].File = "/root/go/pkg/mod/go.etcd.io/bbolt@v1.5.0/db.go"
		}
		return frames
	}
	puts := wait("chan receive", 31, "runtime.chanrecv1", "main.put")
	puts.WokenBy, puts.Wakers = imported("runtime.chansend1", batch, entry), 18
	syncs := func(seconds float64, functions ...string) record.Wait {
		return record.Wait{Reason: "system call", Seconds: seconds, Any: seconds, Count: 20, Goroutines: 20, Entry: record.Frame{Function: entry + "-fm"},
			Stack: imported(append(append([]string{"syscall.Fdatasync"}, functions...), batch, entry)...)}
	}
	for _, c := range []struct {
		meta    float64
		syncing bool
	}{{0.1, true}, {0.02, false}} {
		run := profiled(32, 200, nil, puts, syncs(0.2, "go.etcd.io/bbolt.(*Tx).write"), syncs(c.meta, "go.etcd.io/bbolt.(*Tx).writeMeta"))
		run.FixtureTrace.Groups = append(run.FixtureTrace.Groups, born(entry+"-fm", 20, 0.04))
		d := NewSubject("v", append(sweep(100, 200, 200), run)).Diagnose(rules.Defaults)
		if strings.Contains(d.Text, batch+" (db.go:7) answers, which itself waits 60% of the time") != c.syncing {
			t.Errorf("%v s: %s", c.meta, d.Text)
		}
	}
}
