package words

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/record"
)

// profilers are commands that profile programs not built by Go, by the beginning of their
// executables' names. %d is the process ID.
var profilers = []struct{ program, how string }{
	{"node", "node --prof (then node --prof-process), or clinic flame"},
	{"bun", "bun --cpu-prof"},
	{"deno", "the V8 inspector (deno --inspect)"},
	{"python", "py-spy record -p %d"},
	{"pypy", "py-spy record -p %d"},
	{"gunicorn", "py-spy record -p %d"},
	{"uwsgi", "py-spy record -p %d"},
	{"java", "async-profiler (asprof -d 10 %d)"},
	{"ruby", "rbspy record --pid %d"},
	{"php", "phpspy -p %d"},
	{"beam", "recon or eprof in a shell of the node"},
	{"dotnet", "dotnet-trace collect -p %d"},
}

// NotGo describes a process that Go did not build, what Dyno sees of it, and what would show the
// rest.
func NotGo(t record.Target) string {
	program, how := cmp.Or(t.Program, "another program"), "perf record -g -p %d"
	for _, p := range profilers {
		if strings.HasPrefix(t.Program, p.program) {
			how = p.how
		}
	}
	if strings.Contains(how, "%d") {
		how = fmt.Sprintf(how, t.PID)
	}
	return fmt.Sprintf("the process is %s, not a Go program: CPU use, kernel time, accept queue and generator are all that Dyno sees of it; %s profiles its CPU time", program, how)
}
