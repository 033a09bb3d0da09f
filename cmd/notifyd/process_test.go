package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// program is notifyd, built once for all tests.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "notifyd")
	if err == nil {
		program = filepath.Join(dir, "notifyd")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("building notifyd: %w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// process is notifyd as users run it.
type process struct {
	t          *testing.T
	cmd        *exec.Cmd
	api, debug string // origins
	stderr     bytes.Buffer
	ended      bool
}

// serve starts notifyd on a data folder and waits until it is ready.
func serve(t *testing.T, data string, args ...string) *process {
	t.Helper()
	p := &process{t: t}
	p.cmd = exec.Command(program, append([]string{"serve", "--listen=127.0.0.1:0", "--debug=127.0.0.1:0", "--lame-duck=0s", "--data=" + data}, args...)...)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	var ready struct{ Listen, Debug string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		p.kill()
		t.Fatalf("no ready line but %q, %v; it said:\n%s", line, err, &p.stderr)
	}
	p.api, p.debug = "http://"+ready.Listen, "http://"+ready.Debug
	return p
}

// kill ends it at once, if it has not ended.
func (p *process) kill() {
	if !p.ended {
		p.ended = true
		p.cmd.Process.Kill()
		p.cmd.Wait() // says that it was killed
	}
}

// stop ends it in good order.
func (p *process) stop() {
	p.t.Helper()
	p.ended = true
	p.cmd.Process.Signal(syscall.SIGTERM) // an error: it has ended by itself, which Wait tells
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("notifyd ended with %v; it said:\n%s", err, &p.stderr)
	}
}

// client keeps no connections: each request says for itself who has ended.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// ask sends a request and returns the answer's status and body.
func ask(method, url, contentType, body string) (int, []byte, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", contentType)
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}
