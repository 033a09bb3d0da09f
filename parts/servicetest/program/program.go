// Package program runs a command under test, as a binary or as a function in the test's process,
// and keeps what it prints. It is for commands that take arguments and end; a service that prints a
// ready line is better started with package processtest.
//
// Each process has one goroutine that waits for its end, which comes with the test's at the latest.
package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"dyno/parts/servicetest"
)

// Start starts the program with arguments, the first of which is a command such as sync. It does
// not wait. What it started is ended with the test at the latest.
type Start func(t testing.TB, args ...string) *Process

// Process is the program at work.
type Process struct {
	Stdout, Stderr Text
	Stop           func() // as SIGTERM does
	Kill           func() // as SIGKILL does; nil: it is in this process and cannot be killed

	ended chan struct{} // closed when it has
	code  int           // exit code; -1: a signal ended it. To be read when it has ended
}

// Func is a program that is a function: it takes its arguments, ends early when ctx is done, and
// returns its exit code.
type Func func(ctx context.Context, args []string, stdout, stderr io.Writer) int

// Inside starts a program in this process.
func Inside(run Func) Start {
	return func(t testing.TB, args ...string) *Process {
		ctx, cancel := context.WithCancel(context.Background())
		p := &Process{Stop: cancel, ended: make(chan struct{})}
		go func() {
			defer close(p.ended)
			defer cancel()
			p.code = run(ctx, args, &p.Stdout, &p.Stderr)
		}()
		t.Cleanup(func() {
			cancel()
			<-p.ended
		})
		return p
	}
}

// Binary starts a program that was built.
func Binary(path string) Start {
	return func(t testing.TB, args ...string) *Process {
		t.Helper()
		cmd := exec.Command(path, args...)
		p := &Process{ended: make(chan struct{})}
		cmd.Stdout, cmd.Stderr = &p.Stdout, &p.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.Stop = func() { cmd.Process.Signal(syscall.SIGTERM) } // an error says that it has ended
		p.Kill = func() { cmd.Process.Kill() }
		go func() {
			defer close(p.ended)
			var failed *exec.ExitError
			if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
				p.code = -1
				return
			}
			p.code = cmd.ProcessState.ExitCode()
		}()
		t.Cleanup(func() {
			p.Kill()
			<-p.ended
		})
		return p
	}
}

// Ended is closed when the program has.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait returns the exit code; -1: a signal ended it.
func (p *Process) Wait(t testing.TB) int {
	t.Helper()
	limit := time.NewTimer(servicetest.Patience)
	defer limit.Stop()
	select {
	case <-p.ended:
		return p.code
	case <-limit.C:
		t.Fatalf("the program did not end within %v; it said:\n%s", servicetest.Patience, p.Stderr.String())
		return -1
	}
}

// Text is what a program prints, while it does so.
type Text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// maxText bounds what is kept: an export of some hundred ledgers.
const maxText = 256 << 20

func (t *Text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.b.Len()+len(b) > maxText {
		return 0, errors.New("the program prints more than a test looks at")
	}
	return t.b.Write(b)
}

func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
