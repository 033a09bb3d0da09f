package gobench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dyno/parts/process"
)

// stopGrace is the time that a process has to end after SIGTERM.
const stopGrace = 2 * time.Second

// start runs a process until its end. The error is not that of the process, which Err returns, but
// that of ctx, or of a process that could not be started.
func (r *run) start(ctx context.Context, s process.Spec) (*process.Process, error) {
	p, err := process.Start(ctx, s)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.Exited():
		return p, nil
	case <-ctx.Done():
		p.Stop(stopGrace)
		return nil, context.Cause(ctx)
	}
}

// goCommand runs the go command in the folder of a side and returns its output.
func (r *run) goCommand(ctx context.Context, side int, args ...string) ([]byte, error) {
	out := &head{}
	env := append([]string{"GOTMPDIR=" + r.scratch()}, r.Sides[side].Env...)
	p, err := r.start(ctx, process.Spec{Name: "go " + args[0], Command: append([]string{"go"}, args...), Dir: r.Sides[side].Dir, Env: env, Stdout: out})
	if err != nil {
		return nil, err
	}
	if p.Err() != nil {
		return nil, errors.New(strings.TrimSpace(p.LogTail(20)))
	}
	return out.Bytes(), nil
}

// mostOutput bounds the kept output of a process, in bytes.
const mostOutput = 16 << 20

// head keeps the first bytes that are written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	h.Buffer.Write(b[:min(len(b), mostOutput-h.Len())])
	return len(b), nil
}

// outcome is what one process of benchmarks printed and used.
type outcome struct {
	output
	cpu  time.Duration // of the whole process
	wall time.Duration
	err  error  // how it failed, after it printed the output
	late bool   // it failed since it took longer than its limit
	last string // the benchmark that ran last, without "Benchmark"
}

// leastTimeout is the least time that a process of benchmarks may take: a slow start on a busy
// machine is no hang.
const leastTimeout = time.Minute

// job is what one process of benchmarks runs.
type job struct {
	path, dir string
	pattern   string // of the benchmarks
	procs     int    // GOMAXPROCS
	count     int    // how often each runs
	time      string // 100x or 10ms
	expected  time.Duration
	limit     time.Duration // after which it is stopped; 0: one that only a hang reaches
	skip      string        // pattern of benchmarks to leave out; empty: none
}

// execute runs benchmarks of a binary.
func (r *run) execute(ctx context.Context, j job) (o outcome, err error) {
	limit := cmp.Or(j.limit, leastTimeout+20*j.expected)
	out := &head{}
	began := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %v", limit.Round(time.Second)))
	defer cancel()
	// -test.v keeps what a benchmark prints apart from the line of its result.
	command := []string{j.path, "-test.run=^$", "-test.bench=" + j.pattern, "-test.benchtime=" + j.time, fmt.Sprintf("-test.count=%d", j.count),
		fmt.Sprintf("-test.cpu=%d", j.procs), "-test.benchmem", "-test.v", "-test.timeout=0"}
	if j.skip != "" {
		command = append(command, "-test.skip="+j.skip)
	}
	p, err := r.start(limited, process.Spec{Name: "benchmark", Dir: j.dir, Stdout: out, Command: command,
		Env: []string{"TMPDIR=" + r.scratch(), fmt.Sprintf("GOMAXPROCS=%d", j.procs)}})
	o.last = strings.TrimPrefix(lastRun(out.String(), j.procs), "Benchmark")
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	if err != nil {
		o.err = err
	} else {
		o.wall, o.cpu, o.err = time.Since(began), p.CPUTime(), p.Err()
	}
	o.output, o.late = parse(out.Bytes(), j.procs), limited.Err() != nil
	if exit := new(process.ExitError); errors.As(o.err, &exit) {
		o.err = errors.New(firstLine(reason(out.String(), exit.Log)))
	}
	return o, nil
}

// endsBy is in the reason of a process that no benchmark outlives.
const endsBy = " ends by "

// reason finds the lines of an output that say which benchmark failed, and why.
func reason(stdout, stderr string) string {
	last := lastRun(stdout, 1)
	for _, text := range []string{stderr, stdout} {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
				return cmp.Or(last, "it") + endsBy + line
			}
		}
	}
	if before, after, failed := strings.Cut(stdout, "--- FAIL: "); failed {
		name, rest, _ := strings.Cut(after, "\n")
		name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
		// The testing package prints what a benchmark logs before its verdict, or indented after it.
		why := ""
		lines := strings.Split(strings.TrimRight(before, "\n"), "\n")
		if line := lines[len(lines)-1]; strings.HasPrefix(line, "    ") {
			why = strings.TrimSpace(line)
		} else if strings.HasPrefix(rest, "    ") {
			why = firstLine(rest)
		}
		return strings.TrimSuffix(name+" fails: "+why, ": ")
	}
	switch {
	case stderr != "" && last != "":
		return last + ": " + stderr
	case stderr != "":
		return stderr
	}
	return cmp.Or(last, "it") + " ends with an error and says nothing"
}

// lastRun names the benchmark that ran last by an output with -test.v; empty: none did. The line that is printed when
// one begins has no suffix of GOMAXPROCS, the line of its result does.
func lastRun(stdout string, procs int) (name string) {
	for line := range strings.Lines(stdout) {
		line = strings.TrimPrefix(line, "=== RUN   ")
		if fields := strings.Fields(line); len(fields) > 0 && strings.HasPrefix(line, "Benchmark") {
			if name = fields[0]; len(fields) > 1 {
				name = bare(name, procs)
			}
		}
	}
	return name
}
