package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// runtime describes the programs whose executables' names begin with program.
type runtime struct {
	program string
	// one is the thread that alone runs the program's code; empty: several do.
	one string
	// fixed means that it is always the same thread of a process; otherwise threads take turns.
	fixed bool
	// start is the command with which the program writes a map of its functions' names for perf;
	// empty: it needs none, or has no such command.
	start string
	// profiler is a command that profiles it; %d is the process ID.
	profiler string
}

const pythonMap = "python -X perf (version 3.12 or later; or the environment variable PYTHONPERFSUPPORT=1)"

var runtimes = []runtime{
	{"node", "the thread of node's event loop", true, "node --perf-basic-prof", "node --prof (then node --prof-process), or clinic flame"},
	{"bun", "the thread of bun's event loop", true, "", "bun --cpu-prof"},
	{"deno", "the thread of deno's event loop", true, "", "the V8 inspector (deno --inspect)"},
	{"python", "the one thread at a time that holds Python's global interpreter lock", false, pythonMap, "py-spy record -p %d"},
	{"gunicorn", "the one thread at a time that holds Python's global interpreter lock", false, pythonMap, "py-spy record -p %d"},
	{"pypy", "the one thread at a time that holds PyPy's global interpreter lock", false, "", "py-spy record -p %d"},
	{"uwsgi", "", false, "", "py-spy record -p %d"},
	{"java", "", false, "", "async-profiler (asprof -d 10 %d)"},
	{"ruby", "the one thread at a time that holds Ruby's global lock", false, "", "rbspy record --pid %d"},
	{"php", "", false, "", "phpspy -p %d"},
	{"beam", "", false, "", "recon or eprof in a shell of the node"},
	{"dotnet", "", false, "", "dotnet-trace collect -p %d"},
}

func runtimeOf(program string) runtime {
	for _, r := range runtimes {
		if strings.HasPrefix(program, r.program) {
			return r
		}
	}
	return runtime{profiler: "perf record -g -p %d"}
}

// oneThread is the thread that alone runs a program's code; empty: several do.
func oneThread(t record.Target) string { return runtimeOf(t.Program).one }

// CPU use, in cores, from which more than one thread evidently runs a program's code: native code
// that has released the lock, or worker processes. An event loop has helpers, which collect garbage
// and compile.
const (
	several     = 1.3
	severalLoop = 1.8
)

// readNonGo adds the signals that are read from the kernel, for a program that Go did not build.
func readNonGo(sig rules.Signals, r *record.Run) {
	around, of := r.System, runtimeOf(r.Target.Program)
	if !around.Seen || around.BusiestProcess == 0 {
		return
	}
	sig[rules.Awake] = around.BusiestProcess
	if of.fixed {
		sig[rules.Awake] = around.BusiestThread
	}
	most := several
	if of.fixed {
		most = severalLoop
	}
	if of.one != "" && around.TargetCPU < most {
		sig[rules.OneThread] = min(1, sig[rules.Awake])
	}
	busy, alone := sig[rules.OneThread]
	if !alone { // the busiest process may be one of several workers
		sig[rules.Awake] = max(sig[rules.Awake], around.TargetCPU+around.TargetDelay)
		busy = sig[rules.Awake]
	}
	if busy > 0 {
		sig[rules.Starved] = max(0, 1-around.TargetCPU/busy)
	}
	if sig[rules.Starved] >= rules.Defaults.Value(rules.ThresholdStarved) && sig[rules.Awake] >= rules.Defaults.Value(rules.ThresholdAwake) {
		// Connections queue because the program does not get a CPU to accept them, and clients
		// pause because they do not get one either.
		delete(sig, rules.AcceptQueue)
		delete(sig, rules.AcceptFill)
		delete(sig, rules.Occupied)
	}
	if c := sig[rules.Clients]; c > 0 {
		sig[rules.Calling] = min(1, around.Calls/c)
	}
	// With few connections, requests wait for one of them to become free. A mean of half a waiting
	// connection or more is not chance.
	const least = 0.5
	if around.Calls >= least && sig[rules.Awake] < rules.Defaults.Value(rules.ThresholdAwake) {
		sig[rules.Calling] = max(sig[rules.Calling], min(1, around.Calls/around.CallsOpen))
	}
}

// named is the smallest share of samples in a script's functions that shows that perf read a map
// of their names.
const named = 0.05

// describeNonGo states what the process is, what was seen of it, and what would show the rest. cpu
// is nil if there is no profile; why is the reason.
func describeNonGo(t record.Target, cpu *record.Profile, why error) string {
	of := runtimeOf(t.Program)
	text := fmt.Sprintf("the process is %s, not a Go program: Dyno sees it from outside", cmp.Or(t.Program, "another program"))
	profiler := of.profiler
	if strings.Contains(profiler, "%d") {
		profiler = fmt.Sprintf(profiler, t.PID)
	}
	switch {
	case cpu == nil && why != nil:
		return text + ", its CPU use, kernel time, threads, sockets and accept queue, but not its functions (" + why.Error() + "); " + profiler + " profiles its CPU time"
	case cpu == nil:
		return text + ", its CPU use, kernel time, threads, sockets and accept queue; " + profiler + " profiles its CPU time"
	case of.start != "" && scriptShare(cpu) < named:
		return text + ", and its profile names no function of its own, because there is no map of them; start it with " + of.start + "; or " + profiler + " profiles it"
	}
	return text + ", by the kernel's samples of its CPU time and the state of its threads and sockets; where in its code a request waits is unknown"
}

// scriptShare is the share of a profile's samples with a function of a script.
func scriptShare(p *record.Profile) float64 {
	in, all := 0.0, p.Total()
	for _, s := range p.Stacks {
		for _, f := range s.Frames {
			if stacks.Scripted(f.File) {
				in += s.Value
				break
			}
		}
	}
	if all == 0 {
		return 0
	}
	return in / all
}
