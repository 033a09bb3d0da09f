// Package target starts what is measured and what stands beside it: it builds a program, starts it,
// waits until it is ready, keeps its log, and stops it.
//
// No process outlives the lab. Each is the leader of a process group of its own, so a terminal's Ctrl-C
// reaches the lab alone and the lab stops them in order. Should the lab die without a chance to do so
// (a panic, kill -9), the kernel kills the processes it started (Linux) and a guardian, a shell that
// notices that the lab is gone, kills what is left of their groups. A descendant that makes a session of
// its own leaves its group and with it this promise: start servers in the foreground, not as daemons.
//
// The package is not for deciding what to start (scenario) or for looking inside it (probe). Each
// Process owns three goroutines, which have ended when Exited is closed.
package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unicode"

	"dyno/lab/record"
)

// defaultReadyTimeout is how long a process may take to become ready when its Spec does not say: a
// database that recovers its log takes some seconds.
const defaultReadyTimeout = 30 * time.Second

// Spec says what to start and how to tell that it is ready.
type Spec struct {
	Name    string   // what errors call it; the command's base name when empty
	Command []string // program and arguments
	Env     []string // KEY=value, on top of the lab's own environment
	Dir     string   // where it runs; the lab's own directory when empty
	CPUs    []int    // the only CPUs it may run on; empty: all. Linux only
	Log     string   // file that receives stdout and stderr, anew; empty: only LogTail keeps them

	// ReadyLine waits for one line on stdout that is a JSON object, as every service prints when its
	// addresses are bound. A log record (an object with a "level") is passed over.
	ReadyLine bool
	// ReadyURL names what is polled until it answers with a status of 200 to 399; nil: nothing is. With
	// ReadyLine it is asked for the URL after the line has come, and given the line's string fields.
	ReadyURL func(line map[string]string) (string, error)
	// ReadyTimeout bounds the wait; 0: 30 s.
	ReadyTimeout time.Duration

	// Stdout, for jobs, receives the raw stdout in place of the log; stderr still goes to the log. It is
	// written to by one goroutine, and a Write that blocks holds the process up.
	Stdout io.Writer
}

func (s *Spec) check() error {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return errors.New("no command to start: name a program, as in command: [./ordersd, --listen, ':0']")
	case s.ReadyLine && s.Stdout != nil:
		return errors.New("stdout can be waited on for a ready line or passed on raw, not both")
	case s.ReadyTimeout < 0:
		return fmt.Errorf("ready timeout %v lies below 0", s.ReadyTimeout)
	}
	return nil
}

// Start starts a process and returns when it is ready. ctx bounds the start only: once ready, a process
// runs until Stop. When the process ends or ctx is done before it is ready, nothing of it is left behind
// and the error says why, with the exit code and the end of its log.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Name == "" {
		s.Name = s.Command[0][strings.LastIndexByte(s.Command[0], '/')+1:]
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s was not started: %w", s.Name, err)
	}
	log, err := openLog(s.Log)
	if err != nil {
		return nil, fmt.Errorf("%s: opening its log: %w", s.Name, err)
	}
	p := &Process{name: s.Name, log: log, exited: make(chan struct{}), ready: &readyLine{found: make(chan struct{})}}
	started := make(chan error, 1)
	go p.run(s, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s could not be started: %w", s.Name, startHint(err, s.Command[0]))
	}
	if err := p.awaitReady(ctx, s); err != nil {
		p.Stop(stopGrace)
		return nil, err
	}
	return p, nil
}

// stopGrace is what a process gets to end by itself when its start is given up.
const stopGrace = 2 * time.Second

func startHint(err error, program string) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: install %s or give its path", err, program)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%w: is %s an executable file?", err, program)
	}
	return err
}

// ExitError is how a process ended that did not end well.
type ExitError struct {
	Name   string
	Code   int            // exit code; -1 when a signal ended it
	Signal syscall.Signal // the signal that ended it, or 0
	Log    string         // the end of its log, redacted
}

func (e *ExitError) Error() string {
	how := fmt.Sprintf("%s ended with exit code %d", e.Name, e.Code)
	if e.Signal != 0 {
		how = fmt.Sprintf("%s was ended by the signal %q", e.Name, e.Signal.String())
	}
	return how + logEnd(e.Log)
}

// ErrKilled is part of Stop's error when a process did not end within its grace and had to be killed.
var ErrKilled = errors.New("had to be killed")

// errorLines is how many lines of a log an error shows.
const errorLines = 20

func logEnd(tail string) string {
	if tail == "" {
		return "; its log is empty"
	}
	return "; its log ends:\n\t" + strings.ReplaceAll(record.Redact(printable(tail)), "\n", "\n\t")
}

// printable keeps what a process printed from moving the cursor or worse when an error is shown.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsPrint(c) {
			return c
		}
		return unicode.ReplacementChar
	}, s)
}
