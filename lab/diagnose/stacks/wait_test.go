package stacks

import (
	"testing"

	"dyno/lab/record"
)

const inHandler = " < main.handle < net/http.HandlerFunc.ServeHTTP < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve"

const inFast = " < github.com/valyala/fasthttp.(*Server).serveConnCounted < github.com/valyala/fasthttp.(*Server).serveConn < github.com/valyala/fasthttp.(*workerPool).workerFunc < github.com/valyala/fasthttp.(*workerPool).getCh.func1"

// The stacks without a dependency's names are from execution traces of programs built by Go 1.26.
func TestKindOf(t *testing.T) {
	const pgxAcquire = "runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < github.com/jackc/puddle/v2.(*Pool[go.shape.*uint8]).acquire < github.com/jackc/puddle/v2.(*Pool[...]).Acquire < github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire < github.com/jackc/pgx/v5/pgxpool.(*Pool).Query"
	const dial = "net/http.(*wantConn).tryDeliver < net/http.(*Transport).dialConnFor < net/http.(*Transport).startDialConnForLocked.func1"
	const get = " < net/http.(*Transport).roundTrip < net/http.(*Transport).RoundTrip < net/http.send < net/http.(*Client).send < net/http.(*Client).Get"
	for _, tt := range []struct {
		want          WaitKind
		reason, stack string
		wokenBy       string
	}{
		{WaitLock, "sync", "sync.(*Mutex).Lock" + inHandler, "main.other"},
		{WaitLock, "sync", "sync.(*RWMutex).RLock" + inHandler, "main.other"},
		{WaitLock, "sync", "sync.(*Mutex).Lock < database/sql.(*DB).conn < database/sql.(*DB).QueryContext" + inHandler, "main.other"},
		{WaitLock, "", "sync.(*Mutex).Lock" + inHandler, ""},
		{WaitPool, "select", "runtime.selectgo < database/sql.(*DB).conn < database/sql.(*DB).query < database/sql.(*DB).QueryContext" + inHandler, "database/sql.(*DB).putConnDBLocked"},
		{WaitPool, "select", "runtime.selectgo < net/http.(*Transport).getConn" + get + inHandler, "net/http.(*wantConn).tryDeliver < net/http.(*Transport).tryPutIdleConn < net/http.(*persistConn).readLoop"},
		{WaitNetwork, "select", "runtime.selectgo < net/http.(*Transport).getConn" + get + inHandler, dial},
		{WaitPool, "chan send", "runtime.chansend1 < github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn < github.com/redis/go-redis/v9.(*baseClient).getConn" + inHandler, "main.other"},
		{WaitPool, "select", "runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire" + inHandler, "main.other"},
		{WaitPool, "select", "runtime.selectgo < golang.org/x/sync/semaphore.(*Weighted).Acquire < github.com/jackc/puddle/v2.(*Pool[...]).acquire < github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire" + inHandler, "main.other"},
		{WaitPool, "select", pgxAcquire + " < main.get" + inFast, "golang.org/x/sync/semaphore.(*Weighted).notifyWaiters < golang.org/x/sync/semaphore.(*Weighted).Release < github.com/jackc/puddle/v2.(*Pool[...]).releaseAcquiredResource"},
		{WaitPool, "select", pgxAcquire + " < main.get" + inHandler, "main.other"},
		{WaitBackground, "select", pgxAcquire + " < main.refresh", "main.other"},
		{WaitIdle, "", "runtime.gopark < runtime.selectgo < github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck < github.com/jackc/pgx/v5/pgxpool.NewWithConfig.func5", ""},
		{WaitIdle, "", "runtime.gopark < time.Sleep < github.com/valyala/fasthttp.(*workerPool).Start.func2", ""},
		{WaitIdle, "network", "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < bufio.(*Reader).fill < bufio.(*Reader).Peek" + inFast, ""},
		{WaitNetwork, "network", "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).Read < io.ReadAtLeast < github.com/jackc/pgx/v5/pgconn.(*PgConn).peekMessage < github.com/jackc/pgx/v5.(*Conn).Query < github.com/jackc/pgx/v5/pgxpool.(*Pool).Query < main.get" + inFast, ""},
		{WaitNetwork, "network", "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < bufio.(*Reader).fill < github.com/lib/pq.(*conn).recv1 < database/sql.(*DB).queryDC" + inHandler, ""},
		{WaitNetwork, "select", "runtime.selectgo < net/http.(*persistConn).roundTrip" + get + inHandler, "net/http.(*persistConn).readLoop"},
		{WaitNetwork, "chan receive", "runtime.chanrecv1 < net/http.(*persistConn).readLoop.func4 < net/http.(*bodyEOFSignal).condfn < net/http.(*bodyEOFSignal).Read < io.Copy" + inHandler, "net/http.(*persistConn).readLoop"},
		{WaitDisk, "system call", "syscall.Fsync < internal/poll.(*FD).Fsync.func1 < internal/poll.(*FD).Fsync < os.(*File).Sync < main.(*log).append" + inHandler, ""},
		{WaitDisk, "system call", "syscall.write < syscall.Write < internal/poll.(*FD).Write < os.(*File).Write" + inHandler, ""},
		{WaitDisk, "system call", "syscall.Syscall < golang.org/x/sys/unix.Fdatasync" + inHandler, ""},
		{WaitSyscall, "system call", "syscall.write < syscall.Write < internal/poll.(*FD).Write < net.(*netFD).Write < net.(*conn).Write < net/http.checkConnErrorWriter.Write < bufio.(*Writer).Flush < net/http.(*response).finishRequest < net/http.(*conn).serve", ""},
		{WaitChannel, "chan receive", "runtime.chanrecv1" + inHandler, "main.consume"},
		{WaitChannel, "chan send", "runtime.chansend1" + inHandler, "main.consume"},
		{WaitSelect, "select", "runtime.selectgo" + inHandler, "main.consume"},
		{WaitTimer, "select", "runtime.selectgo" + inHandler, ""},
		{WaitTimer, "sleep", "time.Sleep" + inHandler, ""},
		{WaitCond, "sync.(*Cond).Wait", "sync.(*Cond).Wait" + inHandler, "main.consume"},
		{WaitGroup, "sync", "sync.(*WaitGroup).Wait < golang.org/x/sync/errgroup.(*Group).Wait" + inHandler, "sync.(*WaitGroup).Done < main.part"},
		{WaitGC, "sync", "runtime.gcMarkDone < runtime.gcAssistAlloc < runtime.deductAssistCredit < runtime.mallocgc < runtime.newobject" + inHandler, ""},
		{WaitGC, "GC mark assist wait for work", "runtime.gcParkAssist < runtime.gcAssistAlloc < runtime.mallocgc" + inHandler, ""},
		{WaitIdle, "network", "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < net/http.(*connReader).backgroundRead", ""},
		{WaitIdle, "network", "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < net/http.(*connReader).Read < bufio.(*Reader).fill < bufio.(*Reader).Peek < net/http.(*conn).serve", ""},
		{WaitIdle, "network", "internal/poll.(*FD).Accept < net.(*netFD).accept < net.(*TCPListener).Accept < main.serve", ""},
		{WaitIdle, "network", "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < net/http.(*persistConn).Read < bufio.(*Reader).Peek < net/http.(*persistConn).readLoop", ""},
		{WaitIdle, "system goroutine wait", "runtime.gopark < runtime.gcBgMarkWorker", ""},
		{WaitIdle, "GC background sweeper wait", "runtime.goparkunlock < runtime.bgsweep", ""},
		{WaitIdle, "sync", "runtime.gcMarkDone < runtime.gcBgMarkWorker", ""},
		{WaitIdle, "forever", "main.main", ""},
		{WaitIdle, "select", "runtime.selectgo < database/sql.(*DB).connectionOpener", ""},
		{WaitIdle, "sleep", "time.Sleep < net/http/pprof.sleep < net/http/pprof.Trace < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve", ""},
		{WaitIdle, "select", "runtime.selectgo < dyno/agent.(*Agent).stream < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve", ""},
		{WaitIdle, "chan receive", "runtime.chanrecv1 < github.com/valyala/fasthttp.(*workerPool).workerFunc", ""},
		{WaitIdle, "network", "internal/poll.(*FD).Read < net.(*conn).Read < bufio.(*Reader).Peek < github.com/valyala/fasthttp.(*Server).serveConn < github.com/valyala/fasthttp.(*workerPool).workerFunc", ""},
		{WaitIdle, "network", "internal/poll.(*FD).Read < net.(*conn).Read < main.(*counted).Read < bufio.(*Reader).fill < bufio.(*Reader).Peek" + inFast, ""},
		{WaitIdle, "network", "internal/poll.(*FD).Read < net.(*conn).Read < main.(*counted).Read < bufio.(*Reader).Peek < github.com/valyala/fasthttp.(*RequestHeader).tryRead < github.com/valyala/fasthttp.(*RequestHeader).Read" + inFast, ""},
		{WaitIdle, "network", "internal/poll.(*FD).Write < net.(*conn).Write < main.(*counted).Write < bufio.(*Writer).Flush" + inFast, ""},
		{WaitNetwork, "network", "internal/poll.(*FD).Read < net.(*conn).Read < main.(*rows).Read < github.com/valyala/fasthttp.copyZeroAlloc < github.com/valyala/fasthttp.writeBodyChunked < github.com/valyala/fasthttp.(*Response).writeBodyStream < github.com/valyala/fasthttp.(*Response).Write < github.com/valyala/fasthttp.writeResponse" + inFast, ""},
		{WaitLock, "sync", "sync.(*Mutex).Lock < main.handle < github.com/valyala/fasthttp.CompressHandlerLevel.func1" + inFast, "main.handle"},
		{WaitLock, "sync", "sync.(*Mutex).Lock < main.handle < github.com/valyala/fasthttp.(*Server).serveConn < github.com/valyala/fasthttp.(*workerPool).workerFunc", "main.handle"},
		{WaitIdle, "sync.(*Cond).Wait", "sync.(*Cond).Wait < net/http.(*connReader).abortPendingRead < net/http.(*response).finishRequest < net/http.(*conn).serve", "net/http.(*connReader).backgroundRead"},
		{WaitLock, "sync", "sync.(*Mutex).Lock < main.(*api).Get < google.golang.org/grpc.(*Server).processUnaryRPC < google.golang.org/grpc.(*Server).handleStream", "main.x"},
		{WaitIdle, "select", "runtime.selectgo < net/http.(*timeoutHandler).ServeHTTP < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve", "runtime.closechan < net/http.(*timeoutHandler).ServeHTTP.func1"},
		{WaitNetwork, "network", "internal/poll.(*FD).Read < main.ask < net/http.HandlerFunc.ServeHTTP < net/http.(*timeoutHandler).ServeHTTP.func1", ""},
		{WaitBackground, "sync", "sync.(*Mutex).Lock < main.work < runtime/pprof.Do < main.main.func1", "main.work"},
		{WaitBackground, "chan receive", "runtime.chanrecv2 < main.consume", "main.handle"},
		{WaitUnknown, "preempted", "main.spin" + inHandler, ""},
		{WaitUnknown, "", "main.spin" + inHandler, ""},
	} {
		w := record.Wait{Reason: tt.reason, Stack: frames(tt.stack), Count: 1, Seconds: 1}
		if tt.wokenBy != "" {
			w.WokenBy = frames(tt.wokenBy)
		}
		if got := KindOf(w); got != tt.want {
			t.Errorf("%s, want %s: [%s] %s", got, tt.want, tt.reason, tt.stack)
		}
	}
	if got := KindOf(record.Wait{}); got != WaitBackground {
		t.Errorf("a wait of which nothing is known: %s", got)
	}
}

// What returns the kind of a background goroutine's wait too: a service may have no handlers.
func TestWhat(t *testing.T) {
	w := record.Wait{Reason: "sync", Stack: frames("sync.(*Mutex).Lock < main.work")}
	if got := What(w); got != WaitLock {
		t.Errorf("%s, want lock", got)
	}
}

// A handler waits for two goroutines that it started. They wait for a file, and so does the
// handler.
func TestBehind(t *testing.T) {
	handler := record.Wait{Reason: "sync", Seconds: 3, Stack: frames("sync.(*WaitGroup).Wait" + inHandler),
		WokenBy: frames("sync.(*WaitGroup).Done < main.part < main.handle.func1")}
	child := record.Frame{Function: "main.handle.func1"}
	file := record.Wait{Reason: "system call", Seconds: 2, Entry: child, Stack: frames("syscall.Fsync < os.(*File).Sync < main.part < main.handle.func1")}
	lock := record.Wait{Reason: "sync", Seconds: 1, Entry: child, Stack: frames("sync.(*Mutex).Lock < main.part < main.handle.func1")}
	stranger := record.Wait{Reason: "sleep", Seconds: 9, Entry: record.Frame{Function: "main.tick"}, Stack: frames("time.Sleep < main.tick")}

	got, ok := Behind(handler, &record.Trace{Waits: []record.Wait{stranger, handler, lock, file}})
	if !ok || What(got) != WaitDisk {
		t.Errorf("behind the group: %v %s", ok, What(got))
	}
	if _, ok := Behind(handler, &record.Trace{Waits: []record.Wait{stranger, handler}}); ok {
		t.Error("something behind a group whose goroutines never waited")
	}
	done := handler
	done.WokenBy = frames("sync.(*WaitGroup).Add < sync.(*WaitGroup).Done < sync.(*WaitGroup).Go.func1.1 < sync.(*WaitGroup).Go.func1")
	started := lock
	started.Stack = frames("sync.(*Mutex).Lock < main.part < main.handle.func1 < sync.(*WaitGroup).Go.func1")
	if got, ok := Behind(done, &record.Trace{Waits: []record.Wait{stranger, started}}); !ok || What(got) != WaitLock {
		t.Errorf("behind a WaitGroup's Go: %v %s", ok, What(got))
	}
	sibling := handler
	sibling.WokenBy = frames("sync.(*WaitGroup).Done" + inHandler)
	if _, ok := Behind(sibling, &record.Trace{Waits: []record.Wait{handler}}); ok {
		t.Error("something behind a wait for another request")
	}
	if _, ok := Behind(lock, &record.Trace{Waits: []record.Wait{file}}); ok {
		t.Error("something behind a lock")
	}
}

// A wait for the calling client differs from a wait for a service that the handler calls.
func TestOnClient(t *testing.T) {
	const from = " < main.(*feed).stream < net/http.HandlerFunc.ServeHTTP < net/http.(*conn).serve"
	for stack, want := range map[string]bool{
		"internal/poll.(*FD).Read < net.(*conn).Read < net/http.(*connReader).Read < bufio.(*Reader).fill < net/http.ReadRequest" + from: true,
		"internal/poll.(*FD).Write < net.(*conn).Write" + from:                                                                           true,
		"internal/poll.(*FD).Write < net.(*conn).Write < net/http.persistConnWriter.Write < net/http.(*Client).Do" + from:                false,
		"internal/poll.(*FD).Read < net.(*conn).Read" + from:                                                                             false,
		"sync.(*Cond).Wait < net/http.(*http2pipe).Read < net/http.(*http2requestBody).Read < io.ReadAll" + from:                         true,
		"sync.(*Cond).Wait < net/http.(*http2pipe).Read < net/http.http2transportResponseBody.Read < io.ReadAll" + from:                  false,
		"runtime.selectgo < google.golang.org/grpc/internal/transport.(*recvBufferReader).readMessageHeader < google.golang.org/grpc.(*serverStream).RecvMsg < main.(*api).Chat < google.golang.org/grpc.(*Server).processStreamingRPC < google.golang.org/grpc.(*Server).handleStream": true,
		"runtime.selectgo < google.golang.org/grpc/internal/transport.(*recvBufferReader).readMessageHeaderClient < google.golang.org/grpc.(*clientStream).RecvMsg" + from:                                                                                                              false,
		"internal/poll.(*FD).Read < net.(*conn).Read < net/http.(*connReader).backgroundRead":                                                                                                                                                                                           false,
	} {
		if got := OnClient(record.Wait{Reason: "network", Stack: frames(stack)}); got != want {
			t.Errorf("%s: %t", stack, got)
		}
	}
}

// A session's handler that reads the next message waits for its client, and one that asks another service
// does not.
func TestBetweenMessages(t *testing.T) {
	const readsConn = "internal/poll.(*FD).Read < net.(*netFD).Read < net.(*conn).Read < bufio.(*Reader).fill < "
	for stack, want := range map[string]bool{
		readsConn + "github.com/gorilla/websocket.(*Conn).advanceFrame < github.com/gorilla/websocket.(*Conn).ReadMessage" + inHandler:   true,
		readsConn + "github.com/coder/websocket.(*Conn).readFrameHeader < github.com/coder/websocket.(*Conn).Read" + inHandler:           true,
		"internal/poll.(*FD).Write < net.(*conn).Write < github.com/gorilla/websocket.(*Conn).WriteMessage" + inHandler:                  false,
		"sync.(*Mutex).Lock < github.com/coder/websocket.(*Conn).Read" + inHandler:                                                       false,
		readsConn + "github.com/gorilla/websocket.(*Conn).ReadMessage < main.feed":                                                       false,
		readsConn + "github.com/jackc/pgx/v5/pgconn.(*PgConn).peekMessage" + inHandler:                                                   false,
		readsConn + "net/http.(*body).Read < net/http.(*connReader).Read < github.com/gorilla/websocket.(*Conn).ReadMessage" + inHandler: true,
	} {
		if got := BetweenMessages(record.Wait{Reason: "network", Stack: frames(stack)}); got != want {
			t.Errorf("%s: %t", stack, got)
		}
	}
}
