// Package beside is the processes beside a server of the suite: a neighbour that only burns CPU,
// and a backend that the server calls.
//
// It is not for the servers. Hog and ServeBackend own the goroutines that they start; a Backend's
// process ends with Close, or with the process that started it.
package beside

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"dyno/subjects/subject"
)

// Backend is a separate process that other servers call over HTTP.
type Backend struct {
	Address string
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *bufio.Reader
}

// StartBackend starts a backend. It ends when it is closed, and with this process, since it reads
// the end of a pipe. It is not a child of this process, as no real downstream is.
func StartBackend(takes time.Duration, atOnce, rounds int) (*Backend, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "--apart", "--backend", takes.String(), "--at-once", strconv.Itoa(atOnce), "--rounds", strconv.Itoa(rounds))
	cmd.Args[0] = "bounds"
	cmd.Stderr = os.Stderr
	its, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdin = its
	defer its.Close()
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stdin.Close()
		return nil, err
	}
	b := &Backend{cmd: cmd, stdin: stdin}
	var ready struct{ Listen string }
	b.stdout = bufio.NewReader(stdout)
	line, err := b.stdout.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("the backend did not become ready: %w", err)
	}
	b.Address = ready.Listen
	return b, nil
}

// Bequeath lets the backend live as long as the program that this process becomes by exec.
func (b *Backend) Bequeath() error {
	_, err := syscall.Dup(int(b.stdin.Fd())) // the copy stays open across exec
	return err
}

// Close ends the backend and waits for it.
func (b *Backend) Close() {
	b.stdin.Close()
	io.Copy(io.Discard, b.stdout) // until it has ended
	b.cmd.Wait()
}

// Apart starts this process again, without --apart, and exits: the process that started this one
// has no such child.
func Apart() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return a == "--apart" })
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "bounds"
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Start()
}

// ServeBackend answers, up to atOnce requests concurrently, until stdin ends. Each answer waits
// and works for its query.
func ServeBackend(takes time.Duration, atOnce int, work func(query string) byte, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := untilStopped(stdin)
	defer stop()
	places := make(chan struct{}, atOnce)
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		time.Sleep(takes)
		sum := work(r.URL.RawQuery)
		<-places
		fmt.Fprintf(w, "price of %s: %d", r.URL.Query().Get("item"), sum)
	})
	return subject.Serve(ctx, subject.Flags{Listen: "127.0.0.1:0"}, subject.Subject{Name: "backend", Handler: answer, Inside: subject.None}, stdout)
}
