package stacks

import (
	"testing"

	"dyno/lab/record"
)

func TestWhoseScript(t *testing.T) {
	for _, c := range []struct {
		frame   record.Frame
		own     bool
		library bool
	}{
		{record.Frame{Function: "fib", File: "/srv/a.js"}, true, false},
		{record.Frame{Function: "Server.emit", File: "node:events"}, false, true},
		{record.Frame{Function: "handle", File: "/srv/node_modules/express/lib/router.js"}, false, false},
		{record.Frame{Function: "Handler.do_GET", File: "/srv/a.py"}, true, false},
		{record.Frame{Function: "SocketIO.write", File: "/usr/lib/python3.12/socket.py"}, false, true},
		{record.Frame{Function: "get", File: "/usr/lib/python3/dist-packages/requests/api.py"}, false, false},
		{record.Frame{Function: "get", File: "/venv/lib/python3.12/site-packages/requests/api.py"}, false, false},
		{record.Frame{Function: "_run", File: "<frozen runpy>"}, false, true},
		{record.Frame{Function: "main.f", File: "/src/go-packages/main.go"}, true, false},
		{record.Frame{Function: "[kernel]"}, false, true},
		{record.Frame{Function: "v8::internal::(anonymous namespace)::Invoke"}, false, true},
	} {
		if own, lib := Own(c.frame), library(c.frame); own != c.own || lib != c.library {
			t.Errorf("%+v: own %t, library %t", c.frame, own, lib)
		}
	}
	inKernel := []record.Frame{{Function: "[kernel]"}, {Function: "write", File: "node:net"}, {Function: "f", File: "/srv/a.js"}}
	if got := ClassOf(inKernel); got != Syscall {
		t.Errorf("in the kernel: %s", got)
	}
	if f, ok := UserFrame(inKernel); !ok || f.Function != "f" {
		t.Errorf("%+v", f)
	}
}
