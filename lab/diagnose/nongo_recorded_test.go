package diagnose

import (
	"slices"
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

// scripted makes runs of a server that Go did not build, in a closed loop of 32 clients.
func scripted(program string, around record.System, cpu ...record.Stack) []*record.Run {
	runs := append(sweep(900, 1000, 1000), profiled(32, 1000, cpu))
	around.Seen, around.PressureCPU = true, -1
	for _, r := range runs {
		r.Target = record.Target{PID: 7, Program: program, NotGo: true}
		r.Totals.Server, r.System = nil, around
		r.Machine.Cores = 8
	}
	runs[3].FixtureTrace = nil
	return runs
}

func frames(value float64, all ...record.Frame) record.Stack {
	return record.Stack{Frames: all, Value: value}
}

// The System values were measured with servers on node 20 and Python 3.12 that computed, slept, or
// called a server that answers after 50 ms.
func TestDiagnoseOtherLanguages(t *testing.T) {
	fib := record.Frame{Function: "fib", File: "/srv/server.js", Line: 2}
	serve := record.Frame{Function: "(anonymous at 4:19)", File: "/srv/server.js", Line: 4}
	emit := record.Frame{Function: "emit", File: "node:events", Line: 466}
	library := record.Frame{Function: "parse", File: "/srv/node_modules/q/q.js", Line: 9}
	kernel, loop := record.Frame{Function: "[kernel]"}, record.Frame{Function: "uv_run"}
	computing := []record.Stack{frames(6, fib, fib, serve, emit, loop), frames(2, library, serve, emit, loop), frames(2, kernel, emit, loop)}
	pyfib := record.Frame{Function: "fib", File: "/srv/server.py"}
	handle := record.Frame{Function: "Handler.do_GET", File: "/srv/server.py"}
	socket := record.Frame{Function: "SocketIO.write", File: "/usr/lib/python3.12/socket.py"}
	python := []record.Stack{frames(5, record.Frame{Function: "_PyEval_EvalFrameDefault"}, pyfib), frames(5, kernel, socket, handle)}

	busy := record.System{TargetCPU: 1.02, TargetSystem: 0.1, TargetDelay: 0.01, BusiestThread: 0.98, BusiestProcess: 1.1}
	asleep := record.System{TargetCPU: 0.16, TargetSystem: 0.06, BusiestThread: 0.15, BusiestProcess: 0.17}
	calls := asleep
	calls.Calls, calls.CallsOpen, calls.CallsTo = 30.4, 32, "127.0.0.1:18120"
	full := asleep
	full.AcceptQueue, full.AcceptLimit, full.ListenOverflows = 6, 5, 28
	both := full
	both.Calls, both.CallsOpen, both.CallsTo = calls.Calls, calls.CallsOpen, calls.CallsTo
	starved := record.System{TargetCPU: 0.1, TargetDelay: 0.8, BusiestThread: 0.89, BusiestProcess: 0.9, OthersCPU: 7}
	starved.AcceptQueue, starved.AcceptLimit = 6, 5

	for _, c := range []struct {
		name  string
		runs  []*record.Run
		bound rules.Bottleneck
		kind  string
		where string
		says  []string
	}{
		{"node computes", scripted("node", busy, computing...), rules.CPU, rules.Threaded, "fib",
			[]string{"One thread bounds it", "the thread of node's event loop ran or waited for a CPU 98% of the time", "A further core would not help it", "60% of its CPU time is spent in fib (server.js:2)"}},
		{"Python computes", scripted("python3.12", busy, python...), rules.CPU, rules.Threaded, "fib",
			[]string{"the one thread at a time that holds Python's global interpreter lock", "50% of its CPU time is spent in fib (server.py)"}},
		{"node without a map", scripted("node", busy, frames(9, record.Frame{Function: "Builtins_InterpreterEntryTrampoline"}, loop)), rules.CPU, rules.Threaded, "", nil},
		{"node sleeps", scripted("node", asleep, computing...), rules.Wait, rules.Unseen, "",
			[]string{"Waiting bounds it, not computing", "its threads slept; 0.15 threads ran or waited for a CPU", "What the requests wait for is unknown", "it may be a timer"}},
		{"Python sleeps", scripted("python3.12", asleep), rules.Wait, rules.Unseen, "", nil},
		{"node calls", scripted("node", calls, computing...), rules.Wait, rules.Called, "",
			[]string{"Waiting for downstream bounds it", "95% of the requests, or of its connections to 127.0.0.1:18120, wait for an answer"}},
		{"Python calls", scripted("python3.12", calls), rules.Wait, rules.Called, "", nil},
		{"Python accepts slowly", scripted("python3.12", full), rules.Wait, rules.Accepted, "", []string{"6 connections wait in the accept queue"}},
		{"Python calls, and was slow to accept", scripted("python3.12", both), rules.Wait, rules.Called, "", nil},
		{"node beside neighbours", scripted("node", starved, computing...), rules.Environment, "", "",
			[]string{"it is short of CPU", "of which 89% was waiting"}},
		{"threads that need no lock", scripted("java", record.System{TargetCPU: 7.5, BusiestThread: 0.6, BusiestProcess: 7.8}), rules.CPU, "", "", []string{"The CPU bounds it"}},
		{"a server of one thread on an idle machine", scripted("unknown", asleep), rules.Wait, rules.Unseen, "", nil},
	} {
		d := NewSubject("v", c.runs).Diagnose(rules.Defaults)
		if d.Bottleneck != c.bound || d.Kind != c.kind || d.Confirmed || !d.Valid {
			t.Errorf("%s: %s %q, confirmed %t: %s", c.name, d.Bottleneck, d.Kind, d.Confirmed, d.Text)
		}
		if c.where != "" && (len(d.Sites) == 0 || d.Sites[0].Function != c.where) || c.where == "" && len(d.Sites) > 0 {
			t.Errorf("%s: in %+v, want %q", c.name, d.Sites, c.where)
		}
		for _, part := range c.says {
			if !strings.Contains(d.Text, part) {
				t.Errorf("%s: %q does not say %q", c.name, d.Text, part)
			}
		}
		if !slices.ContainsFunc(d.Unseen, func(s string) bool { return strings.Contains(s, "not a Go program") }) || d.Signals[rules.Allocating] != 0 {
			t.Errorf("%s: %q", c.name, d.Unseen)
		}
	}
}

// No experiment is planned for other runtimes: settings of Go's runtime do not affect them.
func TestNoExperimentOnOtherLanguages(t *testing.T) {
	runs := scripted("node", record.System{TargetCPU: 1, BusiestThread: 1, BusiestProcess: 1})
	for _, r := range runs {
		r.Target.Command = []string{"node", "server.js"}
	}
	if step, done := (Plan{Variant: "v", Intervene: true}).Next(runs); !done {
		t.Errorf("%+v", step)
	}
}
