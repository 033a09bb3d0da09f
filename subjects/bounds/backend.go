package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"

	"dyno/subjects/subject"
)

// backend is a process of its own that other servers call over HTTP.
type backend struct {
	URL   string
	cmd   *exec.Cmd
	stdin io.Closer
}

// startBackend starts one. It ends when it is closed, and with this process, however that ends: it holds
// nothing but the end of a pipe.
func startBackend(takes time.Duration, atOnce int) (*backend, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "--backend", takes.String(), "--at-once", strconv.Itoa(atOnce))
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
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
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
	b.cmd.Wait()
}

// serveBackend answers, atOnce requests at a time, until stdin ends.
func serveBackend(takes time.Duration, atOnce int, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := untilTold(stdin)
	defer stop()
	places := make(chan struct{}, atOnce)
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		time.Sleep(takes)
		<-places
		fmt.Fprintf(w, "price of %s: 42", r.URL.Query().Get("item"))
	})
	return subject.Serve(ctx, subject.Flags{Listen: "127.0.0.1:0"}, subject.Subject{Name: "backend", Handler: answer, Inside: subject.None}, stdout)
}
