package observe

import (
	"strings"
	"testing"

	"dyno/lab/record"
)

// What several goroutines of one function wait for, outside of requests, is listed, such as consumers of
// a queue that wait for their database.
func TestWorkers(t *testing.T) {
	const reading = "internal/poll.(*FD).Read < net.(*conn).Read < "
	for _, tt := range []struct {
		reason, stack string
		want          string // empty: no row
	}{
		{"network", reading + "github.com/jackc/pgx/v5.(*Conn).Exec < main.store < main.worker", "goroutines of main.worker that wait in main.store (main.go:10) for an answer from downstream"},
		{"network", reading + "github.com/jackc/pgx/v5.(*Conn).Exec < main.worker < sync.(*WaitGroup).Go.func1", "goroutines that wait in main.worker (main.go:10) for an answer from downstream"},
		{"network", reading + "main.(*driver).Query < database/sql.(*DB).queryDC < main.worker", "goroutines of main.worker that wait in main.(*driver).Query (main.go:10) for an answer from downstream"},
		{"select", "runtime.selectgo < net/http.(*persistConn).roundTrip < net/http.(*Client).Do < main.worker", "goroutines that wait in main.worker (main.go:10) for an answer from downstream"},
		{"select", "runtime.selectgo < net/http.(*Transport).getConn < net/http.(*Client).Do < main.worker", "goroutines that wait in main.worker (main.go:10) for a connection of an HTTP client, perhaps of an unlimited number"},
		{"network", reading + "main.worker", "goroutines that wait in main.worker (main.go:10) for a peer (a downstream or a client)"},
		{"system call", "syscall.Fsync < os.(*File).Sync < main.worker", "goroutines that wait in main.worker (main.go:10) for a file"},
		{"chan receive", "runtime.chanrecv1 < main.worker", ""}, // work
		{"sleep", "time.Sleep < main.worker", ""},
		{"network", reading + "net/http.(*connReader).Read < github.com/gorilla/websocket.(*Conn).NextReader < main.worker", ""}, // the client of a handler
		{"network", reading + "github.com/nats-io/nats%2ego.(*Conn).readLoop", ""},
	} {
		w := wait(tt.reason, tt.stack, 3.8, 60, 4)
		w.WokenBy = at("runtime.chansend1 < main.other")
		do := func(w record.Wait, goroutines int) *Report {
			f := traced([]record.Group{{Entry: w.Entry, Goroutines: goroutines, Running: 0.16, Waiting: 3.8}}, w)
			f.Looks[0].CPU = computing(0.04, "main.work")
			return Of(f)
		}
		r := do(w, 4)
		found := find(t, r, KindWait)
		if tt.want == "" {
			if len(found) > 0 || !strings.HasPrefix(r.Summary, "nothing that shows is busy") {
				t.Errorf("%s: %s", tt.stack, r.Summary)
			}
			continue
		}
		if len(found) != 1 || found[0].Workers != "main.worker" || found[0].Waiting != 3.8 || found[0].Waits != 60 ||
			strings.Contains(r.Summary, "nothing") || !strings.Contains(r.Summary, tt.want+", 3.8 at a time") {
			t.Errorf("%s: %s: %+v", tt.stack, r.Summary, found)
		}
		w.Count = 0 // they never went on: nothing shows that they work
		if found := find(t, do(w, 4), KindWait); len(found) > 0 {
			t.Errorf("%s: %+v", tt.stack, found)
		}
		w.Count, w.Goroutines = 60, 1
		if found := find(t, do(w, 1), KindWait); len(found) > 0 {
			t.Errorf("%s: %+v", tt.stack, found)
		}
	}
}

// Profiles of the goroutines do not show which waits end, so all of them may be work.
func TestWorkersInMoments(t *testing.T) {
	const fsync = "syscall.Syscall < syscall.Fsync < internal/poll.(*FD).Fsync < os.(*File).Sync < main.worker"
	const reading = "runtime.gopark < internal/poll.runtime_pollWait < internal/poll.(*FD).Read < net.(*conn).Read < main.worker"
	for n, rows := range map[float64]int{4: 1, 1: 0} {
		p := &record.Profile{Type: record.ValueGoroutines, Samples: 8, Stacks: []record.Stack{{Frames: at(reading), Value: 8 * n}}}
		if found := find(t, Of(Facts{Planned: 1, Looks: []Look{{Moments: p}}}), KindWait); len(found) != rows || rows == 1 && (found[0].Workers != "main.worker" || found[0].Waiting != n) {
			t.Errorf("%v goroutines: %+v", n, found)
		}
	}
	p := &record.Profile{Type: record.ValueGoroutines, Samples: 8, Stacks: []record.Stack{{Frames: at(fsync), Value: 32}}}
	if found := find(t, Of(Facts{Planned: 1, Looks: []Look{{Moments: p}}}), KindWait); len(found) != 1 || found[0].Detail != "for a file" {
		t.Errorf("%+v", found)
	}
}

// Locks and pools have rows of their own, for which workers wait too.
func TestWorkersAtLocks(t *testing.T) {
	for stack, kind := range map[string]string{
		"sync.(*Mutex).Lock < main.worker":                                                 KindLock,
		"runtime.selectgo < database/sql.(*DB).conn < main.worker":                         KindPool,
		"runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < main.worker": KindPool,
	} {
		reason := map[string]string{KindLock: "sync", KindPool: "select"}[kind]
		w := wait(reason, stack, 3.8, 60, 4)
		w.WokenBy = at("main.other")
		r := Of(traced([]record.Group{{Entry: w.Entry, Goroutines: 4, Running: 0.16, Waiting: 3.8}}, w))
		if len(find(t, r, kind)) != 1 || len(find(t, r, KindWait)) > 0 || strings.Contains(r.Summary, "nothing") {
			t.Errorf("%s: %+v", stack, r.Resources)
		}
	}
}

// A handler that waits for its own client does not wait for a downstream.
func TestHandlersThatWaitForTheirClient(t *testing.T) {
	const (
		stream = " < google.golang.org/grpc.(*Server).processStreamingRPC < google.golang.org/grpc.(*Server).handleStream < google.golang.org/grpc.(*Server).serveStreams.func2.1"
		buffer = "google.golang.org/grpc/internal/transport.(*recvBufferReader)."
		http2  = " < net/http.HandlerFunc.ServeHTTP < net/http.(*http2serverConn).runHandler"
	)
	for _, tt := range []struct {
		reason, stack string
		rows          int
	}{
		{"select", "runtime.selectgo < " + buffer + "readMessageHeader < " + buffer + "ReadMessageHeader < google.golang.org/grpc.(*serverStream).RecvMsg < main.talk" + stream, 0},
		{"select", "runtime.selectgo < " + buffer + "read < " + buffer + "Read < google.golang.org/grpc.(*serverStream).RecvMsg < main.talk" + stream, 0},
		{"select", "runtime.selectgo < " + buffer + "read < " + buffer + "Read < google.golang.org/grpc.(*serverStream).RecvMsg < main.talk.func1", 0},
		{"select", "runtime.selectgo < " + buffer + "readMessageHeaderClient < " + buffer + "ReadMessageHeader < google.golang.org/grpc.(*clientStream).RecvMsg < main.ask" + stream, 1},
		{"select", "runtime.selectgo < " + buffer + "readClient < " + buffer + "Read < google.golang.org/grpc.(*clientStream).RecvMsg < main.ask" + stream, 1},
		{"sync.(*Cond).Wait", "sync.(*Cond).Wait < net/http.(*http2pipe).Read < net/http.(*http2requestBody).Read < io.copyBuffer < main.upload" + http2, 0},
		{"sync.(*Cond).Wait", "sync.(*Cond).Wait < golang.org/x/net/http2.(*pipe).Read < golang.org/x/net/http2.(*requestBody).Read < io.copyBuffer < main.upload" + http2, 0},
		{"select", "runtime.selectgo < net/http.(*http2serverConn).writeDataFromHandler < net/http.(*http2responseWriterState).writeChunk < main.download" + http2, 0},
		{"select", "runtime.selectgo < google.golang.org/grpc/internal/transport.(*writeQuota).get < google.golang.org/grpc/internal/transport.(*http2Server).write < google.golang.org/grpc.(*serverStream).SendMsg < main.talk" + stream, 0},
		{"select", "runtime.selectgo < google.golang.org/grpc/internal/transport.(*writeQuota).get < google.golang.org/grpc/internal/transport.(*http2Client).write < google.golang.org/grpc.(*clientStream).SendMsg < main.ask" + stream, 1},
		{"sync.(*Cond).Wait", "sync.(*Cond).Wait < net/http.(*http2pipe).Read < net/http.http2transportResponseBody.Read < io.copyBuffer < main.proxy" + http2, 1},
	} {
		w := wait(tt.reason, tt.stack, 50, 60, 50)
		w.WokenBy = at("runtime.chansend < main.other")
		f := traced(nil, w)
		f.Looks[0].CPU = computing(0.04, "main.work")
		r := Of(f)
		found := find(t, r, KindWait)
		if len(found) != tt.rows || strings.Contains(r.Summary, "nothing") != (tt.rows == 0) || tt.rows == 1 && found[0].Detail != "for an answer from downstream" && found[0].Detail != "in a select" {
			t.Errorf("%s: %s", tt.stack, r.Summary)
		}
	}
}
