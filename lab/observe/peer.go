package observe

import (
	"slices"
	"strings"

	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// atWorkers returns for what a goroutine outside of requests waits, if several run the same function of
// the service's own, and its name: workers, such as consumers of a queue. Waits for something to do, or
// that never end, do not count, nor do locks and other pools, which have rows.
func (s *seen) atWorkers(w record.Wait) (kind stacks.WaitKind, function string) {
	entry, own := stacks.Entry(w.Stack)
	kind = stacks.What(w)
	several := w.Goroutines > 1 || slices.ContainsFunc(s.merged.Groups, func(g record.Group) bool {
		return g.Goroutines > 1 && g.Entry.Function == w.Entry.Function
	})
	switch {
	case !own, !several, w.Count == 0 && !s.moments:
	case kind == stacks.WaitNetwork, kind == stacks.WaitDisk, kind == stacks.WaitPool:
		return kind, entry.Function
	}
	return stacks.WaitBackground, ""
}

// onClient reports whether a goroutine waits for the client of a request that it serves. Package stacks
// knows those in a handler, as diagnoses count them; here are also what is written over HTTP/2, and
// goroutines that a handler started.
func onClient(w record.Wait) bool {
	return stacks.OnClient(w) || stacks.FromClient.In(w.Stack) || slices.ContainsFunc(w.Stack, func(f record.Frame) bool {
		switch f.Function {
		case "net/http.(*http2serverConn).writeDataFromHandler", "golang.org/x/net/http2.(*serverConn).writeDataFromHandler",
			"google.golang.org/grpc/internal/transport.(*http2Server).write", "google.golang.org/grpc/internal/transport.(*http2Server).Write":
			return true
		}
		return false
	})
}

// waitsFor says for what a goroutine waits.
func waitsFor(w record.Wait, kind stacks.WaitKind) string {
	switch {
	case ofClient(w):
		return "for a connection of an HTTP client, perhaps of an unlimited number"
	case kind == stacks.WaitNetwork && slices.ContainsFunc(w.Stack, func(f record.Frame) bool { return strings.HasPrefix(f.Function, "os.(*File).") }):
		return "for a pipe, a terminal or a device"
	case kind == stacks.WaitNetwork && ofPeer(w.Stack):
		return "for a peer (a downstream or a client)"
	case kind == stacks.WaitGroup: // of singleflight, a group of another request
		return "on a sync.WaitGroup"
	}
	return kind.Text()
}

// ofPeer reports whether the service's own code reads or writes a connection, or a library of WebSockets
// does: which side opened the connection does not show, as of one that a handler took over (http.Hijacker).
// Other libraries, and clients of the standard library, have opened theirs.
func ofPeer(frames []record.Frame) bool {
	for i, f := range frames {
		pkg := stacks.Package(f.Function)
		switch {
		case pkg == "net/http", pkg == "net/smtp", stacks.Dials.Match(f.Function):
			return false
		case stacks.Standard(f.Function):
		case stacks.Own(f), strings.Contains(pkg, "websocket"), strings.HasPrefix(pkg, "github.com/gobwas/ws"):
			// A driver of databases may be the service's own.
			return !slices.ContainsFunc(frames[i:], func(f record.Frame) bool { return stacks.Package(f.Function) == "database/sql" })
		default:
			return false
		}
	}
	return false
}
