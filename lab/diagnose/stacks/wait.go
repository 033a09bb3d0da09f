package stacks

import (
	"slices"
	"strings"

	"dyno/lab/record"
)

// WaitKind is the resource that a goroutine waits for.
type WaitKind string

// Kinds of wait.
const (
	WaitLock    WaitKind = "lock"      // a mutex
	WaitPool    WaitKind = "pool"      // a connection or a slot of a limited number, in a well-known pool or a channel
	WaitNetwork WaitKind = "network"   // a peer
	WaitDisk    WaitKind = "disk"      // a file
	WaitSyscall WaitKind = "syscall"   // another system call
	WaitChannel WaitKind = "channel"   // one channel
	WaitSelect  WaitKind = "select"    // one of several channels
	WaitCond    WaitKind = "cond"      // a sync.Cond
	WaitGroup   WaitKind = "waitgroup" // goroutines that it started: see Behind
	WaitTimer   WaitKind = "timer"     // time
	WaitGC      WaitKind = "gc"        // the collector
	// work: the next request, a connection, a signal; also goroutines that profile the process
	WaitIdle       WaitKind = "idle"
	WaitBackground WaitKind = "background"
	WaitUnknown    WaitKind = "unknown"
)

// Text says for what a goroutine waits, as in "it waits for a file"; empty: nothing is known.
func (k WaitKind) Text() string { return kindTexts[k] }

var kindTexts = map[WaitKind]string{
	WaitPool:    "for a free connection or slot of a pool",
	WaitNetwork: "for an answer from downstream",
	WaitDisk:    "for a file",
	WaitSyscall: "in a system call",
	WaitChannel: "on a channel",
	WaitSelect:  "in a select",
	WaitCond:    "on a condition variable",
	WaitGroup:   "for goroutines that were started for it",
	WaitTimer:   "for time to pass",
	WaitLock:    "for a lock",
	WaitGC:      "for the garbage collector",
	WaitUnknown: "for an unknown reason",
}

// KindOf returns the kind of a wait in a request's handler, WaitIdle if the goroutines wait for
// work, and WaitBackground otherwise: their stacks do not show whether a request depends on them.
func KindOf(w record.Wait) WaitKind {
	kind := What(w)
	if kind == WaitIdle || InRequest(w.Stack) {
		return kind
	}
	return WaitBackground
}

// What returns the kind of a wait, in a request's handler or elsewhere.
func What(w record.Wait) WaitKind {
	reason := reasonOf(w)
	switch {
	case reason == "forever", reason == "GC background sweeper wait", reason == "system goroutine wait", idle(w.Stack):
		return WaitIdle
	case reason == "preempted":
		return WaitUnknown // runnable
	case strings.Contains(reason, "GC"), gcWaits.In(leafRun(w.Stack)):
		return WaitGC
	}
	switch reason {
	case "sleep":
		return WaitTimer
	case semaphore:
		return WaitPool
	case "network":
		return WaitNetwork
	case "system call", "syscall":
		return whatSyscall(w.Stack)
	case "sync":
		return whatSync(w.Stack)
	case "sync.(*Cond).Wait":
		return orKnown(w, WaitCond)
	case "chan receive", "chan send":
		return orKnown(w, WaitChannel)
	case "select":
		return orKnown(w, WaitSelect)
	}
	return WaitUnknown
}

// OnClient reports whether a request's handler waits for its own client to send more, or to read
// what was written. A handler's connection to another service does not count.
func OnClient(w record.Wait) bool {
	near := w.Stack[:untilOwn(w.Stack)]
	return InRequest(w.Stack) && !afterResponse(w.Stack) && (FromClient.In(near) || toClient.In(near) && !asking.In(near))
}

// BetweenMessages reports whether a session's handler waits for the next message of its client. It takes
// a WebSocket for the client's: which side opened a connection does not show.
func BetweenMessages(w record.Wait) bool {
	near := w.Stack[:untilOwn(w.Stack)]
	return InRequest(w.Stack) && (FromClient.In(near) || read.In(near) && slices.ContainsFunc(near, func(f record.Frame) bool { return webSocket(Package(f.Function)) }))
}

var read = Names{whole: set("internal/poll.(*FD).Read")}

// webSocket reports whether a package is one of a library of WebSockets.
func webSocket(pkg string) bool {
	return strings.Contains(pkg, "websocket") || strings.HasPrefix(pkg, "github.com/gobwas/ws") || strings.HasPrefix(pkg, "github.com/lxzan/gws")
}

// FromClient are functions of servers that read what the client of a request sends. Of a gRPC stream,
// clients call others: readClient and readMessageHeaderClient.
var FromClient = Names{
	whole: set("net/http.(*http2requestBody).Read", "golang.org/x/net/http2.(*requestBody).Read",
		"google.golang.org/grpc/internal/transport.(*recvBufferReader).read", "google.golang.org/grpc/internal/transport.(*recvBufferReader).readMessageHeader"),
	prefix: []string{"net/http.(*connReader)"},
}

var (
	toClient = Names{prefix: []string{"internal/poll.(*FD).Write"}}
	asking   = Names{prefix: []string{"net/http.(*persistConn", "net/http.persistConn", "net/http.(*Transport)", "database/sql.", "net/smtp.", "net/rpc.", "os.(*File)"}}
)

var gcWaits = Names{prefix: []string{"runtime.gcStart", "runtime.gcMarkDone", "runtime.gcMarkTermination", "runtime.gcAssist",
	"runtime.gcParkAssist", "runtime.gcWaitOnMark", "runtime.GC", "runtime.stopTheWorld"}}

func whatSyscall(frames []record.Frame) WaitKind {
	if files.In(frames[:untilOwn(frames)]) {
		return WaitDisk
	}
	return WaitSyscall
}

// files are functions that access a file system.
var files = Names{
	whole: set("syscall.Fsync", "syscall.Fdatasync", "syscall.Ftruncate", "syscall.Open", "syscall.Rename",
		"syscall.Unlink", "syscall.Unlinkat", "syscall.Pread", "syscall.Pwrite", "syscall.Mkdir", "syscall.Stat",
		"golang.org/x/sys/unix.Fsync", "golang.org/x/sys/unix.Fdatasync", "golang.org/x/sys/unix.Msync",
		"golang.org/x/sys/unix.SyncFileRange", "internal/poll.(*FD).Fsync", "internal/poll.(*FD).Pread",
		"internal/poll.(*FD).Pwrite"),
	prefix: []string{"os.(*File).", "os.(*Root).", "os.ReadFile", "os.WriteFile", "os.Rename", "os.Remove", "os.Open",
		"os.Create", "os.Stat", "os.Lstat", "os.Mkdir", "os.ReadDir"},
}

func whatSync(frames []record.Frame) WaitKind {
	run := leafRun(frames)
	switch {
	case semaphores.In(frames[:untilOwn(frames)]):
		return WaitPool
	case groups.In(run):
		return WaitGroup
	}
	return WaitLock
}

var groups = Names{prefix: []string{"sync.(*WaitGroup)"}}

// orKnown recognises waits on channels within well-known pools, and within clients that wait for a
// response. Other waits are of kind otherwise.
func orKnown(w record.Wait, otherwise WaitKind) WaitKind {
	near := w.Stack[:untilOwn(w.Stack)]
	switch {
	case dialled.In(near) && dialling.In(w.WokenBy):
		return WaitNetwork // for a new connection to open, not for a free one
	case pools.In(near), semaphores.In(near):
		return WaitPool
	case clients.In(near):
		return WaitNetwork
	case otherwise != WaitCond && w.Count > 0 && w.WokenBy == nil:
		return WaitTimer // the runtime ended these waits: a timer's channel
	}
	return otherwise
}

// untilOwn is the number of frames from the leaf to the first of the service's own.
func untilOwn(frames []record.Frame) int {
	for i, f := range frames {
		if !Standard(f.Function) && !imported(f) {
			return i
		}
	}
	return len(frames)
}

var (
	dialled  = Names{whole: set("net/http.(*Transport).getConn")}
	dialling = Names{prefix: []string{"net/http.(*Transport).dialConn"}}
)

// pools are functions in which clients wait for one of a limited number of connections.
var pools = Names{
	whole: set("database/sql.(*DB).conn", "net/http.(*Transport).getConn"),
	prefix: []string{"github.com/jackc/puddle/", "github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire",
		"github.com/redis/go-redis/v9/internal/pool.(*ConnPool).waitTurn",
		"github.com/redis/go-redis/v9/internal/pool.(*ConnPool).queuedNewConn",
		"github.com/go-redis/redis/v8/internal/pool.(*ConnPool).waitTurn",
		"github.com/gomodule/redigo/redis.(*Pool).", "go.mongodb.org/mongo-driver/x/mongo/driver/topology.(*pool).",
		"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology.(*pool).",
		"github.com/valyala/fasthttp.(*HostClient).acquireConn"},
}

// semaphores are functions that wait for one of a counted number of slots.
var semaphores = Names{prefix: []string{"golang.org/x/sync/semaphore.(*Weighted).Acquire"}}

// clients are functions in which a caller waits for its response while another goroutine reads the
// connection.
var clients = Names{
	whole: set("net/http.(*persistConn).roundTrip", "net/http.(*persistConn).readLoop", "net/http.(*bodyEOFSignal).Read",
		"net/http.(*http2ClientConn).roundTrip", "net/http.(*http2clientStream).doRequest",
		"golang.org/x/net/http2.(*ClientConn).roundTrip", "net.(*Resolver).lookupIPAddr",
		"net.(*sysDialer).dialParallel", "google.golang.org/grpc.(*pickerWrapper).pick"),
	prefix: []string{"net/http.(*http2pipe).Read", "net/http.http2transportResponseBody", "golang.org/x/net/http2.(*pipe).Read",
		"google.golang.org/grpc/internal/transport.(*recvBufferReader)",
		"google.golang.org/grpc/internal/transport.(*ClientStream)",
		"google.golang.org/grpc/internal/transport.(*Stream).waitOnHeader",
		"google.golang.org/grpc/internal/transport.(*http2Client).NewStream"},
}

// Behind finds the cause of a wait for other goroutines: the longest wait of the goroutines that
// end it, found by their first function. A handler that waits for goroutines it started, or for the
// one consumer of a channel, waits for the same resource as they do. False: they were not seen to
// wait, or are other requests, which cannot be matched.
func Behind(w record.Wait, t *record.Trace) (record.Wait, bool) {
	switch What(w) {
	case WaitGroup, WaitChannel, WaitSelect, WaitCond:
	default:
		return record.Wait{}, false
	}
	if len(w.WokenBy) == 0 || InRequest(w.WokenBy) {
		return record.Wait{}, false
	}
	if chain := Chain(w, t); len(chain) > 0 {
		return chain[0].Wait, true
	}
	// A wait's Entry is the service's own function that the goroutine runs. If that has returned
	// before the goroutine ends the wait, as when WaitGroup.Go calls Done, root is its caller
	// instead.
	root := w.WokenBy[len(w.WokenBy)-1].Function
	var longest record.Wait
	for _, other := range t.Waits {
		same := other.Entry.Function == root || len(other.Stack) > 0 && other.Stack[len(other.Stack)-1].Function == root
		if same && other.Seconds > longest.Seconds && What(other) != WaitIdle {
			longest = other
		}
	}
	return longest, longest.Seconds > 0
}

// reasonOf is the runtime's reason why a goroutine waits; a wait throughout the trace has none, so
// the leaf determines it.
func reasonOf(w record.Wait) string {
	if w.Reason != "" || len(w.Stack) == 0 {
		return w.Reason
	}
	for _, leaf := range leaves {
		if leaf.names.In(leafRun(w.Stack)) {
			return leaf.reason
		}
	}
	return ""
}

var leaves = []struct {
	reason string
	names  Names
}{
	{"sleep", Names{whole: set("time.Sleep")}},
	{"select", Names{whole: set("runtime.selectgo")}},
	{"forever", Names{whole: set("runtime.block")}},
	{"chan receive", Names{prefix: []string{"runtime.chanrecv"}}},
	{"chan send", Names{prefix: []string{"runtime.chansend"}}},
	{"sync.(*Cond).Wait", Names{prefix: []string{"sync.(*Cond).Wait"}}},
	{"sync", Names{prefix: []string{"sync.(*", "internal/sync.(*Mutex)", "internal/poll.(*fdMutex)"}}},
	{"system call", Names{prefix: []string{"os.(*File).", "syscall.Fsync"}}},
	{"network", Names{prefix: []string{"internal/poll.(*FD).", "net.(*"}}},
}
