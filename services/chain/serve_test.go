package chain_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dyno/parts/daemon"
	"dyno/services/chain"
)

// public is the folder of the public chain, with its genesis.
const public = "testdata/archive"

// node is chaind in this process.
type node struct {
	t             testing.TB
	listen, debug string
	stop          func() int // ends it, and returns the exit code
	stderr        *lines
}

// lines is what a process writes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func run(ctx context.Context, stdout, stderr io.Writer, args ...string) int {
	return daemon.Run(ctx, chain.Service(), args, func(string) (string, bool) { return "", false }, stdout, stderr)
}

// imported returns a data folder with the chain of a folder.
func imported(t testing.TB, from string) string {
	t.Helper()
	dir := t.TempDir()
	var stderr lines
	args := []string{"import", "--data", dir, "--genesis", filepath.Join(from, "genesis.json"), filepath.Join(from, "chain.rlp")}
	if code := run(t.Context(), io.Discard, &stderr, args...); code != 0 {
		t.Fatalf("import: %d, %s", code, stderr.String())
	}
	return dir
}

// serve starts chaind with further arguments, and waits until it is ready.
func serve(t testing.TB, args ...string) *node {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	out, in := io.Pipe()
	n := &node{t: t, stderr: new(lines)}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, in, n.stderr, append([]string{"serve", "--listen=127.0.0.1:0", "--lame-duck=0"}, args...)...)
		in.Close()
	}()
	n.stop = sync.OnceValue(func() int {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { n.stop() })
	var ready struct{ Listen, Debug string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		t.Fatalf("the ready line: %v; exit %d, %s", err, n.stop(), n.stderr)
	}
	go io.Copy(io.Discard, out)
	n.listen, n.debug = ready.Listen, ready.Debug
	return n
}

// post sends a message, with further header fields, and returns the status and the answer.
func (n *node) post(message string, header ...string) (int, []byte) {
	n.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+n.listen, strings.NewReader(message))
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return resp.StatusCode, text
}

// ask calls a method and returns the result, or the error.
func (n *node) ask(method, params string) string {
	n.t.Helper()
	_, text := n.post(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
	var answer struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil {
		n.t.Fatalf("%s: %v", text, err)
	}
	if answer.Error != nil {
		return string(answer.Error)
	}
	return string(answer.Result)
}
