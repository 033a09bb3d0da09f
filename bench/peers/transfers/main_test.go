package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/windows"
	"dyno/lab/record"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/coder/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("TRANSFERS_RIVAL"); name != "" {
		pretend(name, os.Args[1:])
		return
	}
	goleak.VerifyTestMain(m)
}

// node answers calls and arrays, and announces blocks of what it was sent.
type node struct {
	refuse bool
	comet  bool // speaks as CometBFT does

	mu       sync.Mutex
	repeated bool
	seen     map[string]bool
	blocks   chan int
}

// reset forgets what was sent, and says whether a part of it was sent two times. A call that was in
// flight when the load stopped may still be answered.
func (n *node) reset(refuse bool) (repeated bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	repeated = n.repeated
	n.seen, n.repeated, n.refuse = map[string]bool{}, false, refuse
	return repeated
}

func (n *node) answer(body []byte) string {
	count, result := bytes.Count(body, []byte("eth_sendRawTransaction")), `{"result":"0x00"},`
	if n.comet {
		count, result = bytes.Count(body, []byte("broadcast_tx_async")), `{"result":{"hash":"00"}},`
	}
	n.mu.Lock()
	n.repeated = n.repeated || n.seen[string(body)]
	n.seen[string(body)] = true
	refuse := n.refuse
	n.mu.Unlock()
	if refuse {
		return `[{"error":{"message":"nonce too low"}}]`
	}
	n.blocks <- count
	return "[" + strings.TrimSuffix(strings.Repeat(result, count), ",") + "]"
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		body, _ := io.ReadAll(r.Body)
		io.WriteString(w, n.answer(body))
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for {
		_, body, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if !bytes.Contains(body, []byte("newHeads")) && !bytes.Contains(body, []byte("NewBlockEvents")) {
			conn.Write(r.Context(), websocket.MessageText, []byte(n.answer(body)))
			continue
		}
		conn.Write(r.Context(), websocket.MessageText, []byte(`{"result":"0x1"}`))
		ctx := conn.CloseRead(r.Context())
		for {
			select {
			case count := <-n.blocks:
				block := fmt.Sprintf(`{"params":{"result":{"gasUsed":"0x%x"}}}`, count*21_000)
				if n.comet {
					block = fmt.Sprintf(`{"result":{"data":{"value":{"num_txs":"%d"}}}}`, count)
				}
				conn.Write(ctx, websocket.MessageText, []byte(block))
			case <-ctx.Done():
				return
			}
		}
	}
}

type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// drive lets the lab's side of a job read what the program prints.
func drive(t *testing.T, o options) (record.Totals, error) {
	t.Helper()
	r, out := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		err := o.run(ctx, out)
		out.Close()
		ended <- err
	}()
	totals, _, err := load.Run(t.Context(), load.Plan{Length: 200 * time.Millisecond}, windows.NewSteady("transfers", r), nowhere{})
	stop()
	r.Close()
	if e := <-ended; e != nil && !strings.Contains(e.Error(), "closed pipe") {
		err = e
	}
	return totals, err
}

// transfer is the first of chaind gen --development.
const transfer = "0x02f86d82053980843b9aca0085174876e80082520894f39fd6e51aad88f6f4ce6ab8827279cfffb922660180c080a094ec7d8d7b03825688f3fcf9db6799dc05957c215fc8c61082bd674a5938cea2a010a0ca2a9ed5db10823490358db4c8a41a8d5f5d1bfab75b467f5f6e352b3c4b"

func rows(t *testing.T, n int, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	if err := os.WriteFile(path, []byte(strings.Repeat(text+"\n", n)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Transfers count when they are in blocks, and none is sent twice.
func TestCommits(t *testing.T) {
	var distinct strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&distinct, "{\"raw\":\"0x%06x\"}\n", i)
	}
	path := rows(t, 1, strings.TrimSuffix(distinct.String(), "\n"))
	for _, c := range []struct {
		scheme string
		array  int
	}{{"http", 10}, {"ws", 10}, {"http", 1}} {
		n, url := serving(t) // one each: what was under way at the end of a drive arrives later
		totals, err := drive(t, options{rows: path, work: "commits", url: c.scheme + url, array: c.array, connections: 2})
		if repeated := n.reset(false); err != nil || totals.Ended == 0 || repeated {
			t.Errorf("%+v: %v: %+v, repeated: %t", c, err, totals, repeated)
		}
	}
	n, url := serving(t)
	few := options{rows: rows(t, 20, `{"raw":"0x00"}`), work: "commits", url: "http" + url, array: 10, connections: 1}
	if _, err := drive(t, few); err == nil || !strings.Contains(err.Error(), errUsedUp.Error()) {
		t.Errorf("20 transfers in arrays of 10: %v", err)
	}
	n.reset(true)
	if _, err := drive(t, few); err == nil || !strings.Contains(err.Error(), "nonce too low") {
		t.Errorf("a refusal: %v", err)
	}
}

// serving returns a node, and its URL without the scheme.
func serving(t *testing.T) (n *node, url string) {
	n = &node{seen: map[string]bool{}, blocks: make(chan int, 64)}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return n, strings.TrimPrefix(server.URL, "http")
}

func TestSignatures(t *testing.T) {
	totals, err := drive(t, options{rows: rows(t, 100, `{"raw":"`+transfer+`"}`), work: "signatures"})
	if err != nil || totals.Ended == 0 {
		t.Errorf("%v: %+v", err, totals)
	}
}

func TestRefuses(t *testing.T) {
	good := options{rows: rows(t, 100, `{"raw":"`+transfer+`"}`), work: "commits", array: 100, connections: 1}
	for name, spoil := range map[string]func(*options){
		"no rows": func(o *options) { o.rows = "missing" }, "rows of another kind": func(o *options) { o.rows = rows(t, 1, `{"uid":1}`) },
		"other work": func(o *options) { o.work = "blocks" }, "large arrays": func(o *options) { o.array = 101 },
		"no node":        func(o *options) { o.url = "http://127.0.0.1:1/" },
		"few signatures": func(o *options) { o.work, o.rows = "signatures", rows(t, 3, `{"raw":"`+transfer+`"}`) },
	} {
		o := good
		if spoil(&o); o.run(t.Context(), io.Discard) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
