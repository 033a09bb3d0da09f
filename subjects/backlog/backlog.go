// Command backlog is a server whose accepting stalls now and then, like that of a server that
// collects garbage, is throttled or is swapped out: connections queue meanwhile, in a listen
// backlog of a given length. The kernel silently drops connections that do not fit, and their
// clients try again after a second, then two, then four.
//
//	backlog --backlog 16 --stall 100ms --every 1s
//
// At 1,000 new connections/s a stall of 100 ms queues 100: with room for them the slowest waits 100
// ms; with a backlog of 16 four fifths of them wait a second or more. Every answer closes its
// connection, so that each request needs a new one. The kernel limits the backlog to
// net.core.somaxconn.
//
// It is not for slow handlers: an accepted request is answered immediately. It starts no
// goroutines of its own.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"dyno/subjects/subject"
)

func main() {
	var addresses subject.Flags
	fs := flag.NewFlagSet("backlog", flag.ContinueOnError)
	addresses.Declare(fs)
	backlog := fs.Int("backlog", 128, "`number` of connections that may wait to be accepted")
	stall := fs.Duration("stall", 100*time.Millisecond, "`length` of a stall, in which no connection is accepted")
	every := fs.Duration("every", time.Second, "`interval` between the beginnings of stalls")
	subject.Parse(fs, os.Args[1:])
	if err := check(*backlog, *stall, *every); err != nil {
		subject.Usage("backlog", err)
	}
	subject.Main(addresses, subject.Subject{Name: "backlog", Handler: http.HandlerFunc(hello),
		Accept: func(l net.Listener) net.Listener {
			if err := shorten(l, *backlog); err != nil {
				fmt.Fprintf(os.Stderr, "backlog: the backlog keeps its length: %v\n", err)
			}
			return &stalling{Listener: l, stall: *stall, every: *every, began: time.Now()}
		},
		Ready: map[string]any{"backlog": *backlog, "stall_ns": *stall, "every_ns": *every}})
}

const maxBacklog = 1 << 16 // the maximum of the kernel's own field

func check(backlog int, stall, every time.Duration) error {
	switch {
	case backlog < 1 || backlog > maxBacklog:
		return fmt.Errorf("--backlog is %d; it must be 1 to %d", backlog, maxBacklog)
	case stall < 0 || stall >= every || every > time.Minute:
		return fmt.Errorf("--stall is %v and --every %v; a stall must be shorter than the interval, and the interval at most a minute", stall, every)
	}
	return nil
}

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	io.WriteString(w, "hello\n")
}

// shorten sets the number of connections that may wait at a listener: a second listen call
// changes only that.
func shorten(l net.Listener, backlog int) error {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return errors.New("not a TCP listener")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), backlog) })
	return errors.Join(err, failed)
}

// stalling does not accept at the beginning of each period.
type stalling struct {
	net.Listener
	stall, every time.Duration
	began        time.Time
}

func (s *stalling) Accept() (net.Conn, error) {
	time.Sleep(s.left(time.Since(s.began)))
	return s.Listener.Accept()
}

// left returns the remaining time of a stall at a time since the start; 0: there is none.
func (s *stalling) left(at time.Duration) time.Duration { return max(0, s.stall-at%s.every) }
