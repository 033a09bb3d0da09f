package diagnose

import (
	"errors"
	"strings"
	"testing"

	"dyno/lab/diagnose/rules"
	"dyno/lab/record"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, program string
		around        record.System
		want, absent  rules.Signals
	}{
		{"an event loop beside helper threads", "node", record.System{Seen: true, TargetCPU: 1.1, BusiestThread: 1.01, BusiestProcess: 1.5},
			rules.Signals{rules.Awake: 1.01, rules.OneThread: 1, rules.Starved: 0}, nil},
		{"a loop that does not get a CPU", "node", record.System{Seen: true, TargetCPU: 0.2, BusiestThread: 0.8, BusiestProcess: 0.9},
			rules.Signals{rules.OneThread: 0.8, rules.Starved: 0.75}, rules.Signals{rules.Occupied: 0, rules.AcceptFill: 0}},
		{"threads that take turns", "python3.12", record.System{Seen: true, TargetCPU: 0.9, BusiestThread: 0.1, BusiestProcess: 1},
			rules.Signals{rules.OneThread: 1}, nil},
		{"threads that have released the lock", "python3.12", record.System{Seen: true, TargetCPU: 3, BusiestThread: 1, BusiestProcess: 3},
			rules.Signals{rules.Awake: 3}, rules.Signals{rules.OneThread: 0}},
		{"several event loops", "node", record.System{Seen: true, TargetCPU: 3, BusiestThread: 1, BusiestProcess: 1.1},
			rules.Signals{rules.Awake: 3}, rules.Signals{rules.OneThread: 0}},
		{"worker processes, one of which is the busiest", "gunicorn", record.System{Seen: true, TargetCPU: 1.4, TargetDelay: 0.6, BusiestThread: 0.8, BusiestProcess: 0.8},
			rules.Signals{rules.Awake: 2, rules.Starved: 0.3}, rules.Signals{rules.OneThread: 0}},
		{"threads that need no lock", "java", record.System{Seen: true, TargetCPU: 1, BusiestThread: 0.5, BusiestProcess: 2},
			rules.Signals{rules.Awake: 2, rules.Starved: 0.5}, rules.Signals{rules.OneThread: 0}},
		{"most requests have asked", "node", record.System{Seen: true, BusiestThread: 0.1, BusiestProcess: 0.1, Calls: 30, CallsOpen: 32},
			rules.Signals{rules.Calling: 30. / 32}, nil},
		{"all of few connections have asked", "python3", record.System{Seen: true, BusiestThread: 0.1, BusiestProcess: 0.1, Calls: 1.9, CallsOpen: 2},
			rules.Signals{rules.Calling: 0.95}, nil},
		{"a connection that is rarely used", "python3", record.System{Seen: true, BusiestThread: 0.1, BusiestProcess: 0.1, Calls: 0.1, CallsOpen: 0.1},
			rules.Signals{rules.Calling: 0.1 / 32}, nil},
		{"threads were not read", "node", record.System{Seen: true, TargetCPU: 1}, nil, rules.Signals{rules.Awake: 0, rules.OneThread: 0}},
	} {
		sig := rules.Signals{rules.Clients: 32, rules.Occupied: 0.5, rules.AcceptFill: 1}
		readNonGo(sig, &record.Run{System: c.around, Target: record.Target{Program: c.program, NotGo: true}})
		for name, want := range c.want {
			if got, seen := sig[name]; !seen || got < want-1e-9 || got > want+1e-9 {
				t.Errorf("%s: %s is %v, want %v", c.name, name, got, want)
			}
		}
		for name := range c.absent {
			if got, seen := sig[name]; seen {
				t.Errorf("%s: %s is %v, want none", c.name, name, got)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	stack := func(file string, value float64) record.Stack {
		return record.Stack{Frames: []record.Frame{{Function: "f", File: file}}, Value: value}
	}
	mapped := &record.Profile{Stacks: []record.Stack{stack("/srv/a.py", 3), stack("", 7)}}
	unmapped := &record.Profile{Stacks: []record.Stack{stack("", 10)}}
	for _, c := range []struct {
		program string
		cpu     *record.Profile
		why     error
		says    []string
		not     string
	}{
		{"node", unmapped, nil, []string{"is node, not a Go program", "start it with node --perf-basic-prof", "clinic flame"}, ""},
		{"python3.12", unmapped, nil, []string{"python -X perf", "PYTHONPERFSUPPORT=1", "py-spy record -p 7"}, ""},
		{"python3.12", mapped, nil, []string{"samples of its CPU time"}, "-X perf"},
		{"node", nil, errors.New("the command perf is missing"), []string{"but not its functions (the command perf is missing)"}, "start it"},
		{"nginx", unmapped, nil, []string{"samples of its CPU time"}, "start it"},
		{"", nil, nil, []string{"another program", "perf record -g -p 7"}, ""},
	} {
		got := describeNonGo(record.Target{Program: c.program, PID: 7, NotGo: true}, c.cpu, c.why)
		for _, part := range c.says {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", c.program, got, part)
			}
		}
		if c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %q says %q", c.program, got, c.not)
		}
	}
}
