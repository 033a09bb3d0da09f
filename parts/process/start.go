// Package process starts programs and stops them: it builds a program, starts it, waits until it is
// ready, keeps its output, and ends it with all that it started. The lab starts targets with it,
// and tests start services.
//
// No process outlives its parent. Each is the leader of a process group of its own, so a terminal's
// Ctrl-C reaches the parent alone, which stops them in order. If the parent dies without a chance
// to do so (a panic, kill -9), the kernel kills the processes that it started (Linux), and the
// reaper, a shell that notices the parent's end, kills what is left of their groups. A descendant
// that starts its own session leaves its group and is not covered: daemonising programs escape, so
// run servers in the foreground. Nor does a folder of TempDir outlive it.
//
// The package does not decide what to start, and does not observe what runs. Each Process owns
// three goroutines, which have ended when Exited is closed.
package process

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
)

// ReadyTimeout bounds the time to become ready if the Spec sets none: a database that recovers its
// log takes some seconds.
const ReadyTimeout = 30 * time.Second

// Spec describes a process to start and how to recognize that it is ready.
type Spec struct {
	Name    string   // name in errors; default: the command's base name
	Command []string // program and arguments
	Env     []string // KEY=value, on top of this process's own environment
	Dir     string   // working directory; default: this process's own
	CPUs    []int    // CPUs it may run on; empty: all. Linux only
	Log     string   // file that receives stdout and stderr, truncated first; empty: only LogTail keeps them

	// ReadyLine waits for one line on stdout that is a JSON object, which every service prints
	// when its addresses are bound. A log record (an object with a "level") is skipped.
	ReadyLine bool
	// ReadyURL returns the URL that is polled until it answers with a status of 200 to 399; nil:
	// none. With ReadyLine or Find it is called after the line has arrived or the fields are found,
	// with the string fields.
	ReadyURL func(line map[string]string) (string, error)
	// Find is polled with the process's ID until it returns fields, which then replace those of the
	// ready line; an error ends the start. With ReadyLine too, whichever comes first counts; the
	// line must then have listen. nil: none.
	Find func(ctx context.Context, pid int) (fields map[string]string, err error)
	// ReadyTimeout bounds the wait; 0: 30 s.
	ReadyTimeout time.Duration

	// Redact removes secrets from the output that errors repeat; nil leaves it as it is.
	Redact func(string) string

	// Stdout, for jobs, receives the raw stdout in place of the log; stderr still goes to the
	// log. One goroutine writes to it; a Write that blocks makes the process wait.
	Stdout io.Writer
}

func (s *Spec) check() error {
	switch {
	case len(s.Command) == 0 || s.Command[0] == "":
		return errors.New("no command to start: name a program, as in command: [./ordersd, --listen, ':0']")
	case s.ReadyLine && s.Stdout != nil:
		return errors.New("stdout can carry a ready line or raw output, not both")
	case s.ReadyTimeout < 0:
		return fmt.Errorf("ready timeout %v is below 0", s.ReadyTimeout)
	}
	return nil
}

// Start starts a process and returns when it is ready. ctx bounds only the start: once ready, a
// process runs until Stop. If the process ends or ctx is done before it is ready, Start kills all
// of it and returns an error with the reason, the exit code and the end of its log.
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
	p := &Process{name: s.Name, redact: s.Redact, log: log, exited: make(chan struct{}), ready: &readyLine{found: make(chan struct{})}}
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

// stopGrace is the time that a process has to end after SIGTERM when its start failed.
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

// ExitError describes how a process failed.
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

// ErrKilled is part of Stop's error if a process did not end within its grace period and was
// killed.
var ErrKilled = errors.New("had to be killed")

// errorLines is the number of log lines in an error.
const errorLines = 20

func logEnd(tail string) string {
	if tail == "" {
		return "; its log is empty"
	}
	return "; its log ends:\n\t" + strings.ReplaceAll(tail, "\n", "\n\t")
}

// printable replaces control characters in a process's output, so that showing an error cannot
// move the cursor.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || unicode.IsPrint(c) {
			return c
		}
		return unicode.ReplacementChar
	}, s)
}
