//go:build linux

package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/assembly"
	pages "dyno/parts/guard"
	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/notify/api"
	"dyno/services/notify/dispatch"
)

// fronted is a dispatcher behind net/http, and behind a front if there is one.
type fronted struct {
	d       *Dispatcher
	front   *api.Front
	address string
}

func newFronted(t testing.TB, ingest string, change func(*Config)) *fronted {
	choice, err := Assembly().Resolve(assembly.Tuned, map[string]string{"ingest": ingest})
	if err != nil {
		t.Fatal(err)
	}
	c := FromChoice(choice)
	c.AllowPrivate, c.testing.openBackend = true, inNoFile
	if change != nil {
		change(&c)
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(t)
	url, f, end := serve(t, d, g)
	if (f != nil) != (ingest == "loop") {
		t.Fatalf("ingest=%s: front %v", ingest, f)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		end(ctx) // an error says that something was still under way
		d.Close(ctx)
	})
	return &fronted{d, f, strings.TrimPrefix(url, "http://")}
}

func newGuard(t testing.TB) *pages.Guard {
	g, err := pages.New(pages.Options{Hosts: []string{"notify.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// talk sends bytes on a connection and returns what comes until it ends. What is sent asks for
// that.
func (s *fronted) talk(t testing.TB, sent string) string {
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	go io.WriteString(conn, sent)
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Error(err)
	}
	return string(all)
}

// answers are the statuses, headers that matter, and bodies of what came.
func answers(t testing.TB, came string) (out []string) {
	for in := bufio.NewReader(strings.NewReader(came)); ; {
		if _, err := in.Peek(1); err != nil {
			return out
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%v in %q", err, came)
		}
		if resp.StatusCode == http.StatusContinue {
			continue // a loop that has the body already need not say it
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		said := map[string]any{}
		if json.Unmarshal(body, &said) == nil && len(fmt.Sprint(said["id"])) == 26 { // one that was made
			said["id"] = "made"
		}
		h := resp.Header
		out = append(out, fmt.Sprint(resp.StatusCode, " ", h.Get("Content-Type"), " ", h.Get("Retry-After"), " ", said))
	}
}

const aBody = `{"id":"ID","key":"k","type":"t","payload":{"a":"<b>"}}`

func postOf(fields, body string) string {
	if !strings.Contains(fields, "Content-Type") {
		fields += "Content-Type: application/json\r\n"
	}
	return fmt.Sprintf("POST /v1/notices HTTP/1.1\r\nHost: 127.0.0.1:80\r\n%sContent-Length: %d\r\n\r\n%s", fields, len(body), body)
}

// inChunks is a chunked body.
func inChunks(body string, each int) string {
	var out strings.Builder
	for len(body) > 0 {
		n := min(each, len(body))
		fmt.Fprintf(&out, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return out.String() + "0\r\n\r\n"
}

// A front answers as net/http's handler does, whether it serves a request or leaves it.
func TestFrontAnswers(t *testing.T) {
	const last = "Connection: close\r\n"
	with := func(id string) string { return strings.Replace(aBody, "ID", id, 1) }
	long := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		name, sent string
		served     int // requests, by the front
	}{
		{"one", postOf(last, with("a")), 1},
		{"twice", postOf("", with("b")) + postOf(last, with("b")), 2},
		{"without an id", postOf(last, `{"key":"k","type":"t"}`), 1},
		{"an id to quote", postOf(last, with(`<\"&>\\`)), 1},
		{"an idempotency key", postOf("Idempotency-Key: c\r\n", `{"key":"k","type":"t"}`) + postOf("idempotency-key: c\r\n"+last, `{"key":"k","type":"t"}`), 2},
		{"a bad idempotency key", postOf("Idempotency-Key: a.b\r\n"+last, with("d")), 1},
		{"no key", postOf(last, `{"type":"t"}`), 1},
		{"an unknown field", postOf(last, `{"key":"k","type":"t","more":1}`), 1},
		{"half of one", postOf(last, `{"key":"k"`), 1},
		{"nothing", postOf(last, ""), 1},
		{"a client's usual header", postOf("User-Agent: x\r\nAccept: */*\r\nAccept-Encoding: gzip\r\nAccept-Language: en\r\n"+last, with("e")), 1},
		{"a name without a dot", strings.Replace(postOf(last, with("f")), "127.0.0.1:80", "localhost", 1), 1},
		{"a batch", postOf("Content-Type: application/x-ndjson\r\n"+last, with("g")+"\n"+with("h")), 0},
		{"another type", postOf("Content-Type: text/plain\r\n"+last, with("i")), 0},
		{"no type", strings.Replace(postOf(last, with("i")), "Content-Type: application/json\r\n", "", 1), 0},
		{"a parameter of the type", postOf("Content-Type: application/json; charset=utf-8\r\n"+last, with("j")), 1},
		{"another spelling of the type", postOf("content-Type: Application/JSON ;charset=utf-8\r\n"+last, with("ja")), 1},
		{"a type with a suffix", postOf("Content-Type: application/cloudevents+json\r\n"+last, with("jb")), 1},
		{"two types", postOf("Content-Type: application/json\r\nContent-Type: text/plain\r\n"+last, with("jc")), 0},
		{"a trace", postOf("traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"+last, with("k")), 1},
		{"a proxy", postOf("X-Forwarded-For: 10.0.0.1\r\nX-Real-IP: 10.0.0.1\r\nVia: 1.1 proxy\r\nX-Request-Id: 1\r\n"+last, with("ka")), 1},
		{"a fetch", postOf("sec-fetch-mode: cors\r\nSec-Fetch-Site: none\r\n"+last, with("kb")), 1},
		{"an upgrade to HTTP/2", postOf("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n", with("kc")) + postOf(last, with("kd")), 2},
		{"an upgrade that is not served here", postOf("Connection: close, Upgrade\r\nUpgrade: websocket\r\n", with("ke")), 1},
		{"a client that waits for 100 Continue", postOf("Expect: 100-continue\r\n"+last, with("kf")), 1},
		{"another expectation", postOf("Expect: more\r\n"+last, with("kg")), 0},
		{"a cookie", postOf("Cookie: a=b\r\n"+last, with("kh")), 1},
		{"trailers", postOf("TE: trailers\r\n"+last, with("ki")), 1},
		{"a page", postOf("Origin: https://example.com\r\n"+last, with("l")), 0},
		{"a name that is known", strings.Replace(postOf(last, with("m")), "127.0.0.1:80", "notify.example", 1), 1},
		{"a name that is not known", strings.Replace(postOf(last, with("m")), "127.0.0.1:80", "example.com", 1), 0},
		{"a large notice", postOf(last, strings.Replace(with("n"), "<b>", long, 1)), 0},
		{"too large a notice", postOf(last, strings.Replace(with("o"), "<b>", strings.Repeat(long, 3), 1)), 0},
		{"chunks", "POST /v1/notices HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n" + last + "\r\n" + inChunks(with("pp"), 20), 1},
		{"chunks of a large notice", "POST /v1/notices HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n" + last + "\r\n" + inChunks(strings.Replace(with("pq"), "<b>", long, 1), 9999), 0},
		{"chunks of too large a notice", "POST /v1/notices HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n" + last + "\r\n" + inChunks(strings.Replace(with("pr"), "<b>", strings.Repeat(long, 3), 1), 9999), 0},
		{"HTTP/1.0", strings.Replace(postOf("", with("ps")), "HTTP/1.1", "HTTP/1.0", 1), 1},
		{"HTTP/1.0 that keeps its connection", strings.Replace(postOf("Connection: keep-alive\r\n", with("pt")), "HTTP/1.1", "HTTP/1.0", 1) + postOf(last, with("pu")), 2},
		{"another method", "PUT /v1/notices HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" + last + "\r\n", 0},
		{"another route", "GET /v1/stats HTTP/1.1\r\nHost: x\r\nX-Y: z\r\n" + last + "\r\n", 0},
		{"no route", "GET /v1/nothing HTTP/1.1\r\nHost: x\r\n" + last + "\r\n", 0},
		{"no HTTP", "hello\r\n\r\n", 0},
		{"first one of its own", postOf("", with("q")) + "GET /v1/dead HTTP/1.1\r\nHost: x\r\n\r\n" + postOf(last, with("r")), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain, loop := newFronted(t, "handler", nil), newFronted(t, "loop", nil)
			want, got := answers(t, plain.talk(t, tt.sent)), answers(t, loop.talk(t, tt.sent))
			if fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if n := loop.front.Stats().Requests; n != uint64(tt.served) {
				t.Errorf("the front served %d requests, want %d", n, tt.served)
			}
		})
	}
}

// gated is a log whose syncs wait for a token.
type gated struct {
	wal.Backend
	tokens chan struct{}
	syncs  chan struct{}
	fails  atomic.Pointer[error] // of its writes; nil means that they succeed
	vain   atomic.Int64          // writes that failed
	admit  func(batch [][]byte) error
}

func (g *gated) Admit(batch [][]byte) error {
	if g.admit == nil {
		return nil
	}
	return g.admit(batch)
}

func (g *gated) Write(batches [][][]byte) error {
	if err := g.fails.Load(); err != nil {
		g.vain.Add(1)
		return *err
	}
	return g.Backend.Write(batches)
}

func (g *gated) Sync() error {
	g.syncs <- struct{}{}
	<-g.tokens
	return g.Backend.Sync()
}

// held is a dispatcher behind a front, whose log of notices waits in each sync.
func held(t *testing.T, change func(*Config)) (*fronted, *gated) {
	g := &gated{Backend: memory.New(), tokens: make(chan struct{}, 1000), syncs: make(chan struct{}, 1000)}
	return newFronted(t, "loop", func(c *Config) {
		c.testing.openBackend = func(_ dispatch.StoreOptions, name string) (wal.Backend, error) {
			if name == dispatch.NoticesName {
				return g, nil
			}
			return memory.New(), nil
		}
		if change != nil {
			change(c)
		}
	}), g
}

// posts sends requests on a connection each; the returned function waits for their statuses and
// counts them.
func (s *fronted) posts(t *testing.T, requests ...string) (statuses func() map[int]int) {
	var wg sync.WaitGroup
	came := make([]string, len(requests))
	for i, request := range requests {
		wg.Go(func() { came[i] = s.talk(t, request) })
	}
	return func() map[int]int {
		wg.Wait()
		out := map[int]int{}
		for _, text := range came {
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
			if err != nil {
				t.Fatal(err)
			}
			out[resp.StatusCode]++
		}
		return out
	}
}

func (s *fronted) queued() int {
	return s.front.Stats().Queued
}

// A notice keeps its idempotency key when the buffer of its connection is used again.
func TestFrontKeepsIdempotencyKeys(t *testing.T) {
	s := newFronted(t, "loop", nil)
	ids, next := make(chan string), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("webhook-id")
		<-next
	}))
	defer receiver.Close()
	defer close(next)
	if _, _, err := s.d.table.Subscribe(dispatch.SubscriptionRequest{URL: &receiver.URL}); err != nil {
		t.Fatal(err)
	}
	const last = "Connection: close\r\n"
	s.talk(t, postOf("Idempotency-Key: aaaa\r\n"+last, `{"key":"k","type":"t"}`))
	if id := <-ids; id != "aaaa" {
		t.Errorf("webhook-id %q, want aaaa", id)
	}
	body := `{"key":"k","type":"t"}` // of the same key: it waits
	s.talk(t, postOf("Idempotency-Key: bbbb\r\n"+last, body))
	s.talk(t, postOf("Idempotency-Key: cccc\r\n"+last, body))
	for _, want := range []string{"bbbb", "cccc"} {
		next <- struct{}{}
		if id := <-ids; id != want {
			t.Errorf("webhook-id %q, want %s", id, want)
		}
	}
}

// What comes while a sync is under way shares the next one.
func TestFrontStoresTogether(t *testing.T) {
	s, g := held(t, nil)
	const last = "Connection: close\r\n"
	first := s.posts(t, postOf(last, `{"key":"k","type":"t"}`))
	<-g.syncs
	const n = 50
	var others []string
	for range n {
		others = append(others, postOf(last, `{"key":"k","type":"t"}`))
	}
	rest := s.posts(t, others...)
	for s.queued() < n {
		time.Sleep(time.Millisecond) // until all were read
	}
	close(g.tokens)
	if got := first()[202] + rest()[202]; got != n+1 {
		t.Errorf("%d were accepted", got)
	}
	if syncs := 1 + len(g.syncs); syncs != 2 {
		t.Errorf("%d notices took %d syncs", n+1, syncs)
	}
}

// What a request allocates, from the socket to the answer. It was 45 and 13 when this was written.
func TestFrontAllocations(t *testing.T) {
	for ingest, most := range map[string]float64{"handler": 80, "loop": 20} {
		s := newFronted(t, ingest, nil)
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		request, answer := []byte(postOf("", `{"key":"k","type":"t","payload":{"note":"x"}}`)), make([]byte, 4096)
		got := testing.AllocsPerRun(500, func() {
			if _, err := conn.Write(request); err != nil {
				t.Fatal(err)
			}
			if n, err := conn.Read(answer); err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 202 ") {
				t.Fatal(string(answer[:n]), err)
			}
		})
		t.Logf("%s: %v allocations", ingest, got)
		if got > most+raceAllocs {
			t.Errorf("%s: %v allocations, more than %v", ingest, got, most)
		}
	}
}
