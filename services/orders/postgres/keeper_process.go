package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is one run of PostgreSQL, under its keeper.
type process struct {
	keeper *exec.Cmd
	orders *os.File // its end ends PostgreSQL
	said   tail     // by the keeper, when it ends with an error

	err  error         // set before done is closed
	done chan struct{} // closed when PostgreSQL and the keeper are gone
}

// startKeeper starts a keeper with PostgreSQL below it: the program postgres with its arguments,
// whose output goes to the file log. Both, and all their children, inherit the open file held. As
// sets the user, folder and environment of the keeper, which are PostgreSQL's too.
func startKeeper(as func(*exec.Cmd), held *os.File, log, postgres string, arguments ...string) (*process, error) {
	self, err := executable()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	p := &process{orders: write, done: make(chan struct{})}
	p.keeper = &exec.Cmd{
		Path: self, Args: append([]string{keeperName, log, postgres}, arguments...), Stdin: read, Stderr: &p.said, ExtraFiles: []*os.File{held},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of reach of the terminal's Ctrl-C: the owner stops it when it is done with it
		WaitDelay:   time.Second,                        // for its stderr: no other process has it open
	}
	as(p.keeper)
	if err := p.keeper.Start(); err != nil {
		write.Close()
		return nil, fmt.Errorf("executing this program once more to keep PostgreSQL: %w", err)
	}
	go p.wait()
	return p, nil
}

// wait waits for the keeper, which waits for PostgreSQL.
func (p *process) wait() {
	defer close(p.done)
	defer p.orders.Close()
	if err := p.keeper.Wait(); err != nil {
		p.err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(p.said.text))
	}
}

// Done is closed when PostgreSQL and the keeper are gone.
func (p *process) Done() <-chan struct{} { return p.done }

// Err returns why PostgreSQL ended, with the end of its log, or nil when that was in good order. It
// must be called after Done is closed.
func (p *process) Err() error { return p.err }

// fastLimit bounds a fast shutdown when the caller does not: its checkpoint writes out
// shared_buffers.
const fastLimit = 60 * time.Second

// Stop ends the sessions, has PostgreSQL write a checkpoint, and waits until it is gone. When ctx
// ends first, or 60 s have passed, PostgreSQL is stopped immediately and recovers at its next
// start; the error says so.
func (p *process) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fastLimit)
	defer cancel()
	p.orders.Write([]byte{orderFast}) // an error: the keeper is gone, which done shows
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(immediateGrace)
	defer timer.Stop()
	p.orders.Write([]byte{orderImmediate})
	select {
	case <-p.done:
		return fmt.Errorf("stopping PostgreSQL: %w; it was stopped immediately and recovers at its next start", ctx.Err())
	case <-timer.C:
		return errors.Join(fmt.Errorf("stopping PostgreSQL: %w; it was killed and recovers at its next start", ctx.Err()), p.Kill())
	}
}

// Kill sends SIGKILL to the postmaster and its children, and to the keeper when that is not enough,
// and waits until they are gone.
func (p *process) Kill() error {
	p.orders.Write([]byte{orderKill})
	timer := time.NewTimer(30 * time.Second) // a killed process is gone when the kernel has freed its memory
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	p.keeper.Process.Kill()
	<-p.done
	return errors.New("the keeper did not kill PostgreSQL within 30 s, and was killed itself")
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-2*maxTail):]
	return len(text), nil
}
