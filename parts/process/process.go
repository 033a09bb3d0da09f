package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a process that Start started. Its methods are safe for concurrent use.
type Process struct {
	name       string
	redact     func(string) string // nil: none
	pid        int
	log        *log
	ready      *readyLine
	found      map[string]string // by Spec.Find, before Start returned; nil: the ready line counts
	readyAfter time.Duration
	begun      time.Time

	exited chan struct{}
	err    error         // set before exited is closed, as is cpu
	cpu    time.Duration // of the process and those of its children that it waited for

	mu        sync.Mutex
	signalled bool // Stop sent SIGTERM
	killed    bool // Stop sent SIGKILL
	ended     bool // the process is about to be reaped: its ID must not be used any more
}

// PID returns the process's ID, which is also its group's.
func (p *Process) PID() int { return p.pid }

// Ready returns the string fields of the ready line, such as listen and debug, or those that
// Spec.Find found; nil without either.
func (p *Process) Ready() map[string]string {
	if p.found != nil {
		return p.found
	}
	return p.ready.fields
}

// ReadyAfter returns the time from just before exec until the process was ready.
func (p *Process) ReadyAfter() time.Duration { return p.readyAfter }

// Exited returns a channel that is closed when the process has ended, its group is gone and its
// output has been read.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how the process ended: nil while it runs, after exit code 0, or after the SIGTERM
// that Stop sent; an *ExitError otherwise.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		return p.err
	default:
		return nil
	}
}

// CPUTime returns the CPU time in user and system mode that the process has used, and those of its
// children that it waited for; 0 while it runs.
func (p *Process) CPUTime() time.Duration {
	select {
	case <-p.exited:
		return p.cpu
	default:
		return 0
	}
}

// LogTail returns up to n of the last lines that the process wrote. The last 16 KiB are kept.
func (p *Process) LogTail(n int) string { return p.log.lastLines(n) }

// errorLog returns the end of the log as an error repeats it.
func (p *Process) errorLog() string {
	tail := printable(p.log.lastLines(errorLines))
	if p.redact != nil {
		tail = p.redact(tail)
	}
	return tail
}

// Stop sends SIGTERM to the process's group, waits up to grace for the process to end, then sends
// SIGKILL. It returns Err, joined with ErrKilled if it had to kill the process. Further calls
// only wait.
func (p *Process) Stop(grace time.Duration) error {
	p.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.signal(syscall.SIGKILL)
		<-p.exited
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return fmt.Errorf("%s did not end within %v of SIGTERM and %w%s", p.name, grace, ErrKilled, logEnd(p.errorLog()))
	}
	return p.err
}

// Kill sends SIGKILL to the process's group and waits for its end, without a chance to clean up.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// signal signals the group as long as the process, and with it the group's ID, exists.
func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || s == syscall.SIGTERM && p.signalled {
		return // many servers stop draining at a second SIGTERM
	}
	p.signalled = true
	p.killed = p.killed || s == syscall.SIGKILL
	syscall.Kill(-p.pid, s)
}

// run starts the process, waits for its end and cleans up after it. It stays on one OS thread for
// the process's whole life, because the kernel sends the parent-death signal when the thread that
// forked ends, not when the parent does.
func (p *Process) run(s Spec, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir, cmd.SysProcAttr = s.Dir, ownGroup()
	if len(s.Env) > 0 {
		cmd.Env = append(os.Environ(), s.Env...)
	}
	pipes, err := p.connect(cmd, s)
	if err != nil {
		p.log.close()
		started <- err
		return
	}
	p.begun = time.Now()
	err = startOn(cmd, s.CPUs)
	pipes.childHasThem()
	if err == nil {
		p.pid = cmd.Process.Pid
		if err = theReaper.watch(p.pid); err != nil {
			syscall.Kill(-p.pid, syscall.SIGKILL)
			cmd.Process.Wait()
		}
	}
	if err != nil {
		pipes.finish()
		p.log.close()
		started <- err
		return
	}
	started <- nil
	p.finish(cmd, pipes)
}

// finish waits for the process and kills what is left of its group.
func (p *Process) finish(cmd *exec.Cmd, pipes *pipes) {
	signalled := false
	state, err := reap(cmd.Process, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended, signalled = true, p.signalled
		syscall.Kill(-p.pid, syscall.SIGKILL)
		theReaper.forget(p.pid)
	})
	pipes.finish()
	closeErr := p.log.close()
	if state != nil {
		p.cpu = state.UserTime() + state.SystemTime()
	}
	p.err = errors.Join(err, p.verdict(state, signalled), closeErr)
	close(p.exited)
}

func (p *Process) verdict(state *os.ProcessState, signalled bool) error {
	if state == nil || state.Success() {
		return nil
	}
	e := &ExitError{Name: p.name, Code: state.ExitCode()}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = ws.Signal()
	}
	if signalled && e.Signal == syscall.SIGTERM {
		return nil // a process without a SIGTERM handler ends in good order, too
	}
	e.Log = p.errorLog()
	return e
}

func firstCPUs(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
