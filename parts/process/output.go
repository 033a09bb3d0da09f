package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// pipes carry a process's output to the log. The parent reads them all the time, even when it
// discards what it read, so that a process never waits for the parent because its log is full.
type pipes struct {
	ours, theirs []*os.File
	copies       sync.WaitGroup
}

// afterEnd bounds the wait for output after the process has ended: a descendant that left the
// group can hold the pipe open for ever.
const afterEnd = time.Second

// mostLeft bounds what is read after that wait, in bytes: what a pipe can hold.
const mostLeft = 1 << 20

// connect sets cmd's stdout and stderr and starts reading them.
func (p *Process) connect(cmd *exec.Cmd, s Spec) (*pipes, error) {
	var out io.Writer = p.log
	switch {
	case s.Stdout != nil:
		out = s.Stdout
	case s.ReadyLine:
		out = io.MultiWriter(p.log, p.ready)
	}
	ps := &pipes{}
	stdout, err := ps.add(out)
	if err != nil {
		return nil, err
	}
	stderr, err := ps.add(p.log)
	if err != nil {
		ps.childHasThem()
		ps.finish()
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return ps, nil
}

func (ps *pipes) add(to io.Writer) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe for its output: %w", err)
	}
	widen(w)
	ps.ours, ps.theirs = append(ps.ours, r), append(ps.theirs, w)
	ps.copies.Go(func() { drain(r, to) })
	return w, nil
}

// drain reads r to its end, or to what the pipe holds when the wait for its end is over, and writes
// to w until w fails.
func drain(r *os.File, w io.Writer) {
	buf := make([]byte, 32<<10)
	write := func(b []byte) {
		if len(b) > 0 && w != nil {
			if _, err := w.Write(b); err != nil {
				w = nil
			}
		}
	}
	for {
		n, err := r.Read(buf)
		write(buf[:n])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			return
		}
	}
	// w may have held up the reading for longer than that wait: a job's output waits for its reader.
	// No more of it is left than a pipe holds; what is more comes from a descendant.
	for left := mostLeft; left > 0; {
		n := available(r, buf)
		if n <= 0 {
			return
		}
		write(buf[:n])
		left -= n
	}
}

// available reads what a pipe holds without waiting: 0 if that is nothing.
func available(r *os.File, buf []byte) (n int) {
	conn, err := r.SyscallConn()
	if err != nil || r.SetReadDeadline(time.Time{}) != nil {
		return 0
	}
	conn.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), buf)
		return true
	})
	if err != nil {
		return 0
	}
	return n
}

// childHasThem closes the parent's copies of the ends that the child writes to.
func (ps *pipes) childHasThem() {
	for _, w := range ps.theirs {
		w.Close()
	}
}

// finish reads what the ended process left in its pipes and closes them.
func (ps *pipes) finish() {
	for _, r := range ps.ours {
		r.SetReadDeadline(time.Now().Add(afterEnd))
	}
	ps.copies.Wait()
	for _, r := range ps.ours {
		r.Close()
	}
}

const (
	maxLog  = 64 << 20 // bytes of a log that are kept; a service that logs each request fills it in minutes
	maxTail = 16 << 10 // bytes of a log's end that are kept in memory for errors
)

// log receives a process's output. It is safe for concurrent use.
type log struct {
	mu      sync.Mutex
	file    *os.File // nil: only the tail is kept
	limit   int      // bytes
	written int      // bytes written by the process, kept or not
	tail    []byte   // the last bytes, up to 2*maxTail
	err     error    // the first write error of file
}

func openLog(path string) (*log, error) {
	if path == "" {
		return &log{limit: maxLog}, nil
	}
	f, err := os.Create(path)
	return &log{file: f, limit: maxLog}, err
}

// Write never fails: a full disk must not stop the measured process. close returns the error.
func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(b)
	room := max(0, l.limit-l.written)
	l.written += len(b)
	if l.file == nil || l.err != nil || room == 0 {
		return len(b), nil
	}
	_, l.err = l.file.Write(b[:min(room, len(b))])
	if l.err == nil && l.written >= l.limit {
		_, l.err = fmt.Fprintf(l.file, "\n[the log ends here: only its first %d bytes are kept]\n", l.limit)
	}
	return len(b), nil
}

func (l *log) keep(b []byte) {
	if len(b) > maxTail {
		b = b[len(b)-maxTail:]
	}
	if len(l.tail)+len(b) > 2*maxTail {
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-maxTail:]...)
	}
	l.tail = append(l.tail, b...)
}

// lastLines returns up to n of the last lines.
func (l *log) lastLines(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := bytes.TrimRight(l.tail, "\n")
	if len(b) > maxTail {
		b = b[len(b)-maxTail:]
	}
	lines := bytes.Split(b, []byte("\n"))
	if len(b) < l.written && len(lines) > 1 && len(b) == maxTail {
		lines = lines[1:] // the first line is incomplete
	}
	return string(bytes.Join(lines[max(0, len(lines)-max(n, 0)):], []byte("\n")))
}

func (l *log) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	if l.err != nil {
		err = l.err
	}
	if err != nil {
		return fmt.Errorf("writing the log: %w", err)
	}
	return nil
}
