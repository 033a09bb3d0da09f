package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"dyno/parts/process"
)

// busy are settings under which much happens in little time: retries do not make the test long, a
// slow machine does not make attempts fail, most of what is pending waits in the log, and the log
// is trimmed all the time.
var busy = []string{
	"backoff=5ms", "max_backoff=50ms", "max_attempts=12", "timeout=1m", "window=64", "history=100ms", "history_bytes=64KiB",
}

// Command returns how the program notifyd is started on a folder so that it is busy, with these
// settings and seams on top.
func Command(notifyd, data string, set ...string) []string {
	args := []string{notifyd, "serve", "--allow-private-targets", "--log-level", "warn", "--listen", "127.0.0.1:0", "--debug", "127.0.0.1:0", "--data", data}
	for _, s := range slices.Concat(busy, set) {
		args = append(args, "--set", s)
	}
	return args
}

// life is one process of the dispatcher.
type life struct {
	number int
	began  time.Time
	line   chan []byte // the first that it prints
	die    func()
	end    func() error    // in good order; it need not wait
	exited <-chan struct{} // closed when nothing is left of it
	err    func() error    // how it ended
	output func() string   // the end of what it printed
	stacks func()          // makes it print its goroutines' stacks and exit; nil if it is inside the test
}

// start starts a process, which need not be ready.
func start(ctx context.Context, command []string, number int) (*life, error) {
	l := &life{number: number, began: time.Now(), line: make(chan []byte, 1)}
	p, err := process.Start(ctx, process.Spec{Name: "the dispatcher", Command: command, Stdout: &firstLine{to: l.line}})
	if err != nil {
		return nil, err
	}
	l.die, l.exited, l.err = p.Kill, p.Exited(), p.Err
	l.end = func() error { return syscall.Kill(p.PID(), syscall.SIGTERM) }
	tail := 1000
	l.output = func() string { return p.LogTail(tail) }
	l.stacks = func() {
		tail = 64 << 10
		syscall.Kill(p.PID(), syscall.SIGQUIT)
	}
	return l, nil
}

// inside is a dispatcher in this process as if it were one of its own.
func inside(number int, start func() (*Instance, error)) (*life, error) {
	i, err := start()
	if err != nil {
		return nil, fmt.Errorf("starting the dispatcher for the %d. time: %w", number+1, err)
	}
	exited, ended := make(chan struct{}), error(nil)
	p := &life{number: number, began: time.Now(), line: make(chan []byte, 1), exited: exited,
		err: func() error { return ended }, output: func() string { return "nothing: it is inside the test" }}
	p.line <- fmt.Appendf(nil, `{"ready":true,"listen":%q}`, strings.TrimPrefix(i.URL, "http://"))
	p.die = func() {
		i.Crash()
		close(exited)
	}
	p.end = func() error {
		ended = i.Stop()
		close(exited)
		return nil
	}
	return p, nil
}

// ready returns where the process listens once it says so, and how long after its start.
func (p *life) ready(ctx context.Context) (base string, took time.Duration, err error) {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case line := <-p.line:
		var ready struct {
			Ready  bool
			Listen string
		}
		if err := json.Unmarshal(line, &ready); err != nil || !ready.Ready {
			return "", 0, fmt.Errorf("process %d: its first line is %q, no ready line", p.number, line)
		}
		return "http://" + ready.Listen, time.Since(p.began), nil
	case <-p.exited:
		return "", 0, fmt.Errorf("process %d ended before it was ready: %w", p.number, p.complaint())
	case <-limit.C:
		p.showStacks()
		return "", 0, fmt.Errorf("process %d was not ready within %v: %w", p.number, patience, p.complaint())
	case <-ctx.Done():
		return "", 0, context.Cause(ctx)
	}
}

// showStacks makes a process that does not go on print where its goroutines are.
func (p *life) showStacks() {
	if p.stacks == nil {
		return
	}
	p.stacks()
	select {
	case <-p.exited:
	case <-time.After(patience):
	}
}

// live waits for d. It is an error if the process ends on its own meanwhile.
func (p *life) live(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-p.exited:
		return fmt.Errorf("process %d ended on its own: %w", p.number, p.complaint())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// kill ends the process and what it has started, and waits for it. It may have ended already.
func (p *life) kill() {
	select {
	case <-p.exited:
	default:
		p.die()
		<-p.exited
	}
}

// stop asks the process to end and waits until it has.
func (p *life) stop(ctx context.Context) error {
	if err := p.end(); err != nil {
		return err
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.exited:
		if p.err() != nil {
			return p.complaint()
		}
		return nil
	case <-limit.C:
		return fmt.Errorf("process %d did not end within %v", p.number, patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// complaint is what the process said last.
func (p *life) complaint() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%v; it said:\n%s", p.err(), p.output())
	default:
		return errors.New("it said:\n" + p.output())
	}
}

// firstLine passes on the first line that is written to it.
type firstLine struct {
	to   chan<- []byte
	text []byte
	had  bool
}

func (f *firstLine) Write(b []byte) (int, error) {
	if !f.had {
		f.text = append(f.text, b...)
		if line, _, whole := bytes.Cut(f.text, []byte{'\n'}); whole || len(f.text) > 4096 {
			f.had = true
			f.to <- line
		}
	}
	return len(b), nil
}
