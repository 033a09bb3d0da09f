package stacks

import (
	"testing"

	"dyno/lab/record"
)

// A handler that runs the rest of a request in a goroutine of its own waits for that one, which is the
// request; what else waits in such a handler counts.
func TestInnermost(t *testing.T) {
	const serve = " < net/http.serverHandler.ServeHTTP < net/http.(*conn).serve"
	in := func(reason, stack string) record.Wait {
		f := frames(stack)
		return record.Wait{Reason: reason, Seconds: 1, Count: 1, Stack: f, Entry: f[len(f)-1], WokenBy: frames("main.other")}
	}
	read := func(root string) record.Wait {
		return in("network", "internal/poll.(*FD).Read < main.ask < net/http.HandlerFunc.ServeHTTP < "+root)
	}
	limited := in("select", "runtime.selectgo < main.limited.func1 < net/http.HandlerFunc.ServeHTTP"+serve)
	locked := in("sync", "sync.(*Mutex).Lock < main.limited.func1 < net/http.HandlerFunc.ServeHTTP"+serve)
	for _, tt := range []struct {
		name string
		of   []record.Wait
		left int
	}{
		{"a middleware with a time limit", []record.Wait{limited, read("main.limited.func1.1"), locked}, 2},
		{"of a go statement that calls", []record.Wait{limited, read("main.limited.func1.gowrap2")}, 1},
		{"a goroutine of another function", []record.Wait{limited, read("main.other.func1.1")}, 2},
		{"a goroutine that handles no request", []record.Wait{limited, in("network", "internal/poll.(*FD).Read < main.ask < main.limited.func1.1")}, 2},
		{"a handler that starts none", []record.Wait{limited, read("net/http.(*conn).serve")}, 2},
	} {
		if got := innermost(&record.Trace{Waits: tt.of}); len(got.Waits) != tt.left {
			t.Errorf("%s: %d waits, want %d", tt.name, len(got.Waits), tt.left)
		}
	}
}
