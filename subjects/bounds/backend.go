package main

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
	"time"

	"dyno/subjects/subject"
)

// backend is a separate process that other servers call over HTTP.
type backend struct {
	URL    string
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout *bufio.Reader
}

// startBackend starts a backend. It ends when it is closed, and with this process, since it reads
// the end of a pipe. It is not a child of this process, as no real downstream is.
func startBackend(takes time.Duration, atOnce, rounds int) (*backend, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "--apart", "--backend", takes.String(), "--at-once", strconv.Itoa(atOnce), "--rounds", strconv.Itoa(rounds))
	cmd.Args[0] = "bounds"
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &backend{cmd: cmd, stdin: stdin}
	var ready struct{ Listen string }
	b.stdout = bufio.NewReader(stdout)
	line, err := b.stdout.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("the backend did not become ready: %w", err)
	}
	b.URL = "http://" + ready.Listen
	return b, nil
}

func (b *backend) close() {
	b.stdin.Close()
	io.Copy(io.Discard, b.stdout) // until it has ended
	b.cmd.Wait()
}

// apart starts this process again, without --apart, and exits: the process that started this one
// has no such child.
func apart() error {
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

// serveBackend answers, up to atOnce requests concurrently, until stdin ends. Each answer waits
// and hashes a number of rounds.
func serveBackend(takes time.Duration, atOnce, rounds int, stdin io.Reader, stdout io.Writer) error {
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
		sum := stretch([]byte(r.URL.RawQuery), rounds)
		<-places
		fmt.Fprintf(w, "price of %s: %d", r.URL.Query().Get("item"), sum[0])
	})
	return subject.Serve(ctx, subject.Flags{Listen: "127.0.0.1:0"}, subject.Subject{Name: "backend", Handler: answer, Inside: subject.None}, stdout)
}
