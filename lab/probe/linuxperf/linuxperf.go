// Package linuxperf profiles the CPU use of a process that Go did not build, with Linux's command
// perf. Perf takes the names of functions in just-in-time compiled code from /tmp/perf-PID.map,
// which a language runtime writes if it was started with an option: node --perf-basic-prof, python
// -X perf. Without that file, only the functions of the runtime's own binaries have names.
//
// It is not for Go programs, which package perf samples without a command, nor for judging a
// profile (diagnose). It starts no goroutines. It runs two commands one after the other, which have
// ended when Record and Profile return.
package linuxperf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrUnsupported is returned if this machine cannot profile the process, or must not.
var ErrUnsupported = errors.New("the process cannot be profiled from outside")

const (
	frequency = 99 // Hz, of each running thread; not in step with timers of 100 Hz
	// patience is the time limit of perf, in addition to the length of the profile: it reads
	// symbols of some 100 MB.
	patience = time.Minute
	// maxProcesses is the maximum number of processes of a tree that are profiled.
	maxProcesses = 64
	// maxStderr is the maximum kept length of perf's error output, in bytes.
	maxStderr = 4 << 10
)

// Recording holds samples, as addresses without names of functions.
type Recording struct {
	perf, dir string
	length    time.Duration
}

// Record samples a process and its descendants for a while. program is the name of the executable,
// which decides how perf unwinds stacks. The caller must call Profile or Discard.
func Record(ctx context.Context, pid int, program string, d time.Duration) (*Recording, error) {
	if err := allowed(pid); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	perf, err := exec.LookPath("perf")
	if err != nil {
		return nil, fmt.Errorf("%w: the command perf is missing (Debian: apt install linux-perf; Ubuntu: linux-tools-generic; Fedora: perf)", ErrUnsupported)
	}
	r := &Recording{perf: perf, length: d}
	if r.dir, err = os.MkdirTemp("", "dyno-perf-"); err != nil {
		return nil, err
	}
	if err := record(ctx, perf, r.file(), pid, program, d); err != nil {
		r.Discard()
		return nil, err
	}
	return r, nil
}

// Profile resolves the names of the functions, which takes perf a second of CPU time or more, and
// returns a CPU profile in the encoding of pprof. The process should still be running. Profile
// discards the recording.
func (r *Recording) Profile(ctx context.Context) ([]byte, error) {
	defer r.Discard()
	p, err := script(ctx, r.perf, r.file())
	if err != nil {
		return nil, err
	}
	p.DurationNanos = int64(r.length)
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, fmt.Errorf("encoding a profile: %w", err)
	}
	return b.Bytes(), nil
}

// Discard removes the recording.
func (r *Recording) Discard() { os.RemoveAll(r.dir) }

func (r *Recording) file() string { return filepath.Join(r.dir, "perf.data") }

// allowed returns the reason why this user must not profile a process; nil: there is none.
func allowed(pid int) error {
	owner, err := ownerOf(pid)
	switch me := os.Geteuid(); {
	case err != nil:
		return fmt.Errorf("process %d cannot be seen: %w", pid, err)
	case me != 0 && owner != me:
		return fmt.Errorf("process %d belongs to another user (%d)", pid, owner)
	}
	return nil
}

// framePointers are programs whose compilers keep frame pointers. The stacks of all others are
// unwound by the tables in their binaries. Tables do not describe just-in-time compiled code; but
// that of Python is the caller of C code, so unwinding still finds the innermost function of
// Python.
var framePointers = []string{"node", "bun", "deno", "java"}

// record runs perf, which writes samples of the given time into a file.
func record(ctx context.Context, perf, file string, pid int, program string, d time.Duration) error {
	graph := "dwarf,8192"
	if slices.ContainsFunc(framePointers, func(name string) bool { return strings.HasPrefix(program, name) }) {
		graph = "fp"
	}
	var pids []string
	for _, p := range family(pid) {
		pids = append(pids, strconv.Itoa(p))
	}
	seconds := strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
	_, err := run(ctx, d+patience, nil, perf, "record", "-q", "-B", "-N", "-e", "cpu-clock", "-F", strconv.Itoa(frequency),
		"--call-graph", graph, "-p", strings.Join(pids, ","), "-o", file, "--", "sleep", seconds)
	return err
}

// run runs perf until it ends or the time limit has passed, and then interrupts it. An interrupted
// perf ends its own child.
func run(ctx context.Context, within time.Duration, read func(*exec.Cmd) error, perf string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	stderr := &head{}
	cmd := exec.CommandContext(ctx, perf, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	var err error
	if read == nil {
		err = cmd.Run()
	} else {
		err = read(cmd)
	}
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("perf %s: %w", args[0], ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("%w: perf %s: %w%s", ErrUnsupported, args[0], err, why(stderr.String()))
	}
	return stderr.String(), nil
}

// why shortens perf's error output to the cause.
func why(stderr string) string {
	if strings.Contains(stderr, "perf_event_paranoid") {
		level, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
		return fmt.Sprintf(": kernel.perf_event_paranoid is %s; sysctl kernel.perf_event_paranoid=2, or CAP_PERFMON, permits it", bytes.TrimSpace(level))
	}
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			return ": " + line
		}
	}
	return ""
}

// head keeps the first bytes that are written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(b []byte) (int, error) {
	h.Buffer.Write(b[:min(len(b), max(0, maxStderr-h.Len()))])
	return len(b), nil
}

// family lists a process and its descendants.
func family(pid int) []int {
	out := []int{pid}
	for i := 0; i < len(out) && len(out) < maxProcesses; i++ {
		lists, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(out[i]), "task/*/children"))
		for _, list := range lists {
			children, err := os.ReadFile(list)
			if err != nil {
				continue
			}
			for _, field := range strings.Fields(string(children)) {
				if child, err := strconv.Atoi(field); err == nil && len(out) < maxProcesses {
					out = append(out, child)
				}
			}
		}
	}
	return out
}
