// Package linuxperf profiles the CPU use of a process that Go did not build, by the command perf of
// Linux. Perf takes the names of functions in just-in-time compiled code from /tmp/perf-PID.map,
// which the runtime writes if it was started so: node --perf-basic-prof, python -X perf. Without
// that file only the runtime's own functions have names.
//
// It is not for Go programs, which package perf samples without a command, nor for judging a
// profile (diagnose). It starts no goroutines; the two commands that it runs one after the other
// have ended when Record and Profile return.
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

// ErrUnsupported is returned if this machine cannot or may not profile the process.
var ErrUnsupported = errors.New("the process cannot be profiled from outside")

const (
	frequency = 99 // Hz, of each running thread; not in step with timers of 100 Hz
	// patience bounds what perf needs beyond the profile's length: it reads symbols of some 100 MB.
	patience = time.Minute
	// maxProcesses bounds the process tree that is profiled.
	maxProcesses = 64
	// maxStderr is how much of perf's complaint is kept, in bytes.
	maxStderr = 4 << 10
)

// Recording holds samples whose functions have no names yet.
type Recording struct {
	perf, dir string
	length    time.Duration
}

// Record samples a process and its children for a while. The program is the name of its
// executable, which decides how stacks are read. The caller must call Profile or Discard.
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

// Profile reads the names of the functions, which takes perf a second of CPU time or more, and
// returns a CPU profile in pprof's encoding. The process should still be there. It discards the
// recording.
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

// allowed reports why a process must not be profiled; nil: it may.
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

// framePointers are programs whose compilers keep frame pointers; the stacks of others are read by
// the unwind tables of their binaries. Tables do not describe just-in-time compiled code, but
// Python's own such code is the caller of C code, so they lead as far as the innermost function.
var framePointers = []string{"node", "bun", "deno", "java"}

// record lets perf sample for the given time into a file.
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

// run runs perf until it ends or its time is over. Perf ends its own child when it is interrupted.
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

// why shortens perf's complaint to its cause.
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

// head keeps the beginning of what is written.
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
