package loadtest

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/record"
	"dyno/lab/workload"
)

// testRefused drives a port without a listener: every request fails, but the drive does not.
func testRefused(t *testing.T, open New) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// The URL is that of a port in use on which nothing listens, so that no other test can listen
	// there meanwhile. The port is bound before it is connected: the kernel then does not pick it
	// for a driver's socket, which would be connected to itself.
	loopback := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	holder, err := loopback.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	url := "http://" + holder.LocalAddr().String()
	totals := drive(t, t.Context(), burst(each, connections), open(url, get(), connections))
	expect(t, totals, each, "refused")
	if totals.Failed != each {
		t.Errorf("%d of %d requests failed", totals.Failed, each)
	}
}

// testKeepAlive checks that connections are kept: the driver makes no more than the plan's
// number, and each carries one answer after the other.
func testKeepAlive(t *testing.T, open New) {
	const many = 100
	s := serve(t, answer(ok128))
	totals := drive(t, t.Context(), burst(many, connections), open(s.url, get(), connections))
	expect(t, totals, many, "200")
	if n := s.accepted.Load(); n < 1 || n > connections {
		t.Errorf("%d connections were made, want at most %d", n, connections)
	}
	if totals.Sent != many {
		t.Errorf("sent %d of %d", totals.Sent, many)
	}
}

// testSequenceNumbers checks that every request carries its own number in every place that has an
// ${id}, also if the body is longer than the socket accepts in one write.
func testSequenceNumbers(t *testing.T, open New) {
	const many = 12
	const blank = "0000000000000000"
	short := `{"id":"` + blank + `","again":"` + blank + `"}`
	long := append([]byte(short), make([]byte, 4<<20)...)
	long = append(long, blank...)
	requests := &corpus.Corpus{
		Requests: []corpus.Request{
			{Method: http.MethodPost, Path: "/short", Body: []byte(short), IDs: []int{7, 7 + corpus.IDLength + 11}},
			{Method: http.MethodPost, Path: "/long", Body: long, IDs: []int{7, 7 + corpus.IDLength + 11, len(long) - corpus.IDLength}},
		},
		Classes: make([]corpus.Class, 1),
	}
	var mu sync.Mutex
	seen := map[uint64]int{}
	s := serve(t, func(p *peer) {
		for {
			r, body, ok := p.request()
			if !ok {
				return
			}
			which := requests.Requests[0]
			if r.URL.Path == "/long" {
				which = requests.Requests[1]
			}
			if len(body) != len(which.Body) {
				t.Errorf("a body of %d bytes arrived, want %d", len(body), len(which.Body))
				return
			}
			id := string(body[which.IDs[0]:][:corpus.IDLength])
			for _, at := range which.IDs {
				if other := string(body[at:][:corpus.IDLength]); other != id {
					t.Errorf("one request carries two numbers: %s and %s", id, other)
				}
			}
			seq, err := strconv.ParseUint(id, 16, 64)
			if err != nil {
				t.Errorf("a request carries %q for a number", id)
			}
			mu.Lock()
			seen[seq]++
			mu.Unlock()
			p.send(ok128)
		}
	})
	totals := drive(t, t.Context(), burst(many, connections), open(s.url, requests, connections))
	expect(t, totals, many, "200")
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != many {
		t.Errorf("%d distinct numbers arrived with %d requests", len(seen), many)
	}
}

// testClasses checks that each class uses its own check and is reported separately.
func testClasses(t *testing.T, open New) {
	const many = 30
	requests := &corpus.Corpus{
		Requests: []corpus.Request{
			{Method: http.MethodGet, Path: "/read", Class: 0},
			{Method: http.MethodGet, Path: "/write", Class: 1},
			{Method: http.MethodGet, Path: "/read", Class: 0},
		},
		Classes: []corpus.Class{
			{Name: "read"},
			{Name: "write", Check: corpus.Check{Check: workload.Check{Header: map[string]string{"X-Stored": "yes"}}}},
		},
	}
	s := serve(t, answer(ok128))
	plan := burst(many, connections)
	plan.Classes = []string{"read", "write"}
	totals := drive(t, t.Context(), plan, open(s.url, requests, connections))
	expect(t, totals, many, "200")
	if got := totals.Errors["check"]; got != many/3 || totals.Failed != got {
		t.Errorf("%d failed, %d of them by a check of content; want %d", totals.Failed, got, many/3)
	}
	for _, name := range plan.Classes {
		if totals.Classes[name].Max == 0 {
			t.Errorf("no latency was reported for class %s: %v", name, totals.Classes)
		}
	}
}

// lengths are the lengths of drives that a test tries in turn: on a busy machine a sender may get
// no CPU during the short one.
var lengths = []time.Duration{2 * record.WindowLength, 20 * record.WindowLength, testTimeout}

// testUnfinished checks that requests without an answer are counted when the drive ends before
// their timeout, also those that never got a connection.
func testUnfinished(t *testing.T, open New) {
	var sent int64
	for _, length := range lengths {
		plan := burst(each, connections)
		plan.Length, plan.Drain = length, 0
		totals := drive(t, t.Context(), plan, open(serve(t, stall("")).url, get(), connections))
		expect(t, totals, each, "unfinished")
		if totals.Unfinished != each {
			t.Errorf("%d of %d requests are unfinished", totals.Unfinished, each)
		}
		if sent = totals.Sent; sent >= connections {
			break
		}
	}
	if sent != connections {
		t.Errorf("sent %d over %d connections that never answer", sent, connections)
	}
}

// testClosedModel checks that without a schedule every answer is followed by the next request.
func testClosedModel(t *testing.T, open New) {
	var served atomic.Int64
	s := serve(t, func(p *peer) {
		for {
			if _, _, ok := p.request(); !ok {
				return
			}
			served.Add(1)
			p.send(ok128)
		}
	})
	var totals record.Totals
	for _, length := range lengths {
		served.Store(0)
		s.accepted.Store(0)
		plan := load.Plan{Connections: connections, Length: length, Drain: testTimeout, Timeout: testTimeout}
		totals = drive(t, t.Context(), plan, open(s.url, get(), connections))
		if totals.Ended > connections {
			break
		}
	}
	if totals.Ended <= connections || totals.Unfinished != 0 || totals.Failed != 0 {
		t.Errorf("completed %d, failed %d, unfinished %d over %d connections", totals.Ended, totals.Failed, totals.Unfinished, connections)
	}
	if n := served.Load(); n != totals.Sent {
		t.Errorf("sent %d, but %d arrived", totals.Sent, n)
	}
	if n := s.accepted.Load(); n > connections {
		t.Errorf("%d connections were made, want at most %d", n, connections)
	}
}

// testCount checks that a closed plan by count makes that many requests, numbered from its first,
// and ends with the last answer.
func testCount(t *testing.T, open New) {
	const count = 51
	s := serve(t, answer(ok128))
	plan := load.Plan{Connections: connections, Count: count, FirstSeq: 1000, Length: testTimeout, Timeout: testTimeout}
	totals := drive(t, t.Context(), plan, open(s.url, get(), connections))
	if totals.Offered != count || totals.Completed != count || totals.Failed != 0 {
		t.Errorf("offered %d, completed %d, failed %d, want %d of %d", totals.Offered, totals.Completed, totals.Failed, count, count)
	}
}

// testClosedUnanswered checks the closed model against a target that closes each connection
// without an answer: every request ends as closed, and the next request goes out over a new
// connection.
func testClosedUnanswered(t *testing.T, open New) {
	s := serve(t, once(""))
	for _, length := range lengths {
		plan := load.Plan{Connections: connections, Length: length, Drain: testTimeout, Timeout: testTimeout}
		totals := drive(t, t.Context(), plan, open(s.url, get(), connections))
		if n := totals.Errors["closed"]; n != totals.Offered {
			t.Errorf("%d of %d requests ended as closed: %v", n, totals.Offered, totals.Errors)
		}
		if totals.Offered > connections {
			return
		}
	}
	t.Errorf("no more than one request went out over each connection")
}

// testCancel checks that a cancelled drive returns, with every request counted.
func testCancel(t *testing.T, open New) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := serve(t, func(p *peer) {
		if _, _, ok := p.request(); ok {
			cancel()
			p.gone()
		}
	})
	plan := load.Plan{
		Schedule:    func() load.Schedule { return load.Constant(1000, testTimeout) },
		Connections: connections, Length: testTimeout, Drain: testTimeout, Timeout: testTimeout,
	}
	begin := time.Now()
	totals := drive(t, ctx, plan, open(s.url, get(), connections))
	if time.Since(begin) >= testTimeout {
		t.Error("the drive went on to its end")
	}
	if totals.Unfinished == 0 || totals.Ended != 0 {
		t.Errorf("completed %d, unfinished %d against a target that never answers", totals.Ended, totals.Unfinished)
	}
}

// testRequestBytes checks that method, path, header and body arrive as the corpus has them, and
// that the requests are sent in turn.
func testRequestBytes(t *testing.T, open New) {
	requests := &corpus.Corpus{
		Requests: []corpus.Request{
			{Method: http.MethodGet, Path: "/a?b=c%20d"},
			{Method: http.MethodPut, Path: "/e", Header: http.Header{"Content-Type": {"text/plain"}, "X-Two": {"1", "2"}}, Body: []byte("hello")},
			{Method: http.MethodPost, Path: "/empty"},
			{Method: http.MethodDelete, Path: "/f", Header: http.Header{"Host": {"example.test"}}},
		},
		Classes: make([]corpus.Class, 1),
	}
	var mu sync.Mutex
	seen := map[string]int{}
	s := serve(t, func(p *peer) {
		for {
			r, body, ok := p.request()
			if !ok {
				return
			}
			line := r.Method + " " + r.RequestURI + " type=" + r.Header.Get("Content-Type")
			for _, v := range r.Header.Values("X-Two") {
				line += " two=" + v
			}
			line += " length=" + strconv.FormatInt(r.ContentLength, 10) + " body=" + string(body)
			if r.Host == "example.test" {
				line += " host=" + r.Host
			} else if "http://"+r.Host != p.server.url {
				t.Errorf("Host is %q, the target %s", r.Host, p.server.url)
			}
			mu.Lock()
			seen[line]++
			mu.Unlock()
			p.send(ok128)
		}
	})
	const rounds = 5
	totals := drive(t, t.Context(), burst(rounds*len(requests.Requests), connections), open(s.url, requests, connections))
	expect(t, totals, rounds*len(requests.Requests), "200")
	mu.Lock()
	defer mu.Unlock()
	for _, line := range []string{
		"GET /a?b=c%20d type= length=0 body=",
		"PUT /e type=text/plain two=1 two=2 length=5 body=hello",
		"POST /empty type= length=0 body=",
		"DELETE /f type= length=0 body= host=example.test",
	} {
		if seen[line] != rounds {
			t.Errorf("%q arrived %d times, want %d; seen: %v", line, seen[line], rounds, seen)
		}
	}
}
