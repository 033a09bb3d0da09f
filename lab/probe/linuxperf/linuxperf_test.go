package linuxperf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

// start starts a program and waits until it prints a line. The program ends with the test.
func start(t *testing.T, name string, args ...string) int {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = t.TempDir() // node writes a file there
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

// burns checks that a process spends most of its CPU time in a function.
func burns(t *testing.T, pid int, program, function, file string, line int64) {
	t.Helper()
	for length := 300 * time.Millisecond; ; length *= 4 {
		r, err := Record(t.Context(), pid, program, length)
		if errors.Is(err, ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := r.Profile(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.Parse(bytes.NewReader(encoded))
		if err != nil {
			t.Fatal(err)
		}
		all, in := int64(0), int64(0)
		for _, s := range p.Sample {
			all += s.Value[0]
			for _, l := range s.Location {
				f := l.Line[0].Function
				if f.Name == function && f.Filename == file && f.StartLine == line {
					in += s.Value[0]
					break
				}
			}
		}
		const enough = 10
		if all < enough && length < 20*time.Second {
			continue // a busy machine gave the process no CPU
		}
		if all < enough || in < all/2 {
			t.Errorf("%d of %d samples are in %s (%s:%d); the others: %v", in, all, function, file, line, stacksOf(p))
		}
		return
	}
}

func TestNode(t *testing.T) {
	file := filepath.Join(t.TempDir(), "burn.js")
	script := "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }\nconsole.log('up')\nsetInterval(() => fib(27), 0)\n"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	burns(t, start(t, "node", "--perf-basic-prof", "--interpreted-frames-native-stack", file), "node", "fib", file, 1)
}

func TestPython(t *testing.T) {
	python := ""
	names := []string{"python3", "python3.14", "python3.13", "python3.12"}
	own, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/3.1[2-9]*/bin/python3"))
	for _, name := range append(names, own...) {
		if exec.Command(name, "-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())").Run() == nil {
			python = name
			break
		}
	}
	if python == "" {
		t.Skip("no Python of version 3.12 or later is installed that writes a map for perf")
	}
	file := filepath.Join(t.TempDir(), "burn.py")
	script := "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\nprint('up', flush=True)\nwhile True:\n    fib(18)\n"
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	pid := start(t, python, "-X", "perf", file)
	burns(t, pid, "python", "fib", file, 0)
}

func TestWhatCannotBeProfiled(t *testing.T) {
	if _, err := Record(t.Context(), 1<<30, "node", time.Millisecond); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "cannot be seen") && !strings.Contains(err.Error(), "Linux") {
		t.Errorf("no process: %v", err)
	}
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("there is no /proc")
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Record(t.Context(), os.Getpid(), "node", time.Millisecond); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "apt install linux-perf") {
		t.Errorf("no perf: %v", err)
	}
}

// fake makes a command perf that runs a shell script.
func fake(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "perf")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPerfFails(t *testing.T) {
	perf := fake(t, "echo >&2; echo 'Access is limited: see perf_event_paranoid' >&2; exit 255")
	if err := record(t.Context(), perf, "x", os.Getpid(), "node", time.Second); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "sysctl kernel.perf_event_paranoid=2") {
		t.Errorf("%v", err)
	}
	perf = fake(t, "echo 'no such event' >&2; head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1")
	if _, err := script(t.Context(), perf, "x"); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "no such event") || len(err.Error()) > 500 {
		t.Errorf("%v", err)
	}
}

// When ctx is done, record interrupts perf, and kills it if it does not end.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	perf := fake(t, "echo up >"+filepath.Join(t.TempDir(), "up")+"; exec sleep 600")
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := record(ctx, perf, "x", os.Getpid(), "node", time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
