package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// launcher starts processes from one thread that lives as long as it does: on Linux they die with that
// thread, and so with this program, however it ends.
type launcher struct {
	requests chan *process
	done     chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{make(chan *process), make(chan struct{})}
	go func() {
		defer close(l.done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		for p := range l.requests {
			p.started <- p.cmd.Start()
		}
	}()
	return l
}

func (l *launcher) close() {
	close(l.requests)
	<-l.done
}

// process is one life of the dispatcher.
type process struct {
	number  int
	began   time.Time
	line    chan []byte // the first that it prints
	die     func()
	end     func() error  // in good order; it need not wait
	exited  chan struct{} // closed when nothing is left of it
	err     error         // how it ended
	stderr  tail
	cmd     *exec.Cmd // nil: it is in this process
	started chan error
}

func newProcess(number int) *process {
	return &process{number: number, began: time.Now(), line: make(chan []byte, 1), exited: make(chan struct{})}
}

func (l *launcher) start(command []string, number int) (*process, error) {
	p := newProcess(number)
	p.cmd, p.started = exec.Command(command[0], command[1:]...), make(chan error, 1)
	p.die = func() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	p.end = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.Stdout, p.cmd.Stderr = &firstLine{to: p.line}, &p.stderr
	p.cmd.SysProcAttr = attributes()
	l.requests <- p
	if err := <-p.started; err != nil {
		return nil, fmt.Errorf("starting the dispatcher: %w", err)
	}
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// inside is a dispatcher in this process as if it were one of its own.
func inside(number int, start func() (*Instance, error)) (*process, error) {
	p := newProcess(number)
	i, err := start()
	if err != nil {
		return nil, fmt.Errorf("starting the dispatcher for the %d. time: %w", number+1, err)
	}
	p.line <- fmt.Appendf(nil, `{"ready":true,"listen":%q}`, strings.TrimPrefix(i.URL, "http://"))
	p.die = func() {
		i.Crash()
		close(p.exited)
	}
	p.end = func() error {
		p.err = i.Stop()
		close(p.exited)
		return nil
	}
	return p, nil
}

// ready returns where the process listens once it says so, and how long after its start.
func (p *process) ready(ctx context.Context) (base string, took time.Duration, err error) {
	limit := time.NewTimer(ReadyWithin)
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
		return "", 0, fmt.Errorf("process %d was not ready within %v: %w", p.number, ReadyWithin, p.complaint())
	case <-ctx.Done():
		return "", 0, context.Cause(ctx)
	}
}

// live waits for so long. That the process ends by itself meanwhile is an error.
func (p *process) live(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-p.exited:
		return fmt.Errorf("process %d ended by itself: %w", p.number, p.complaint())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// kill ends the process and what it has started, and waits for it. It may have ended already.
func (p *process) kill() {
	select {
	case <-p.exited:
	default:
		p.die()
		<-p.exited
	}
}

// stop asks the process to end and waits until it has.
func (p *process) stop(ctx context.Context) error {
	if err := p.end(); err != nil {
		return err
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.exited:
		if p.err != nil {
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
func (p *process) complaint() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%v; it said:\n%s", p.err, p.stderr.text())
	default:
		return errors.New("it said:\n" + p.stderr.text())
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

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	last []byte
}

const maxTail = 16 << 10 // bytes; some hundred lines

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if len(t.last) > 2*maxTail {
		t.last = bytes.Clone(t.last[len(t.last)-maxTail:])
	}
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last[max(0, len(t.last)-maxTail):])
}
