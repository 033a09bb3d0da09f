package loadtest

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyno/lab/load/corpus"
	"dyno/lab/workload"
)

// testCase is one behaviour of a target and the outcome that every request must then have.
type testCase struct {
	name         string
	script       func(p *peer)
	want         string         // the expected status or kind of failure
	corpus       *corpus.Corpus // nil: a single GET
	timeout      time.Duration  // 0: longer than any test
	failsContent bool           // the status passes, and the content must fail its check
}

// each is the number of requests in each case; connections, which is smaller, is that of
// connections.
const (
	each        = 6
	connections = 2
)

func (c *testCase) run(t *testing.T, open New, allowed []string) {
	requests := c.corpus
	if requests == nil {
		requests = get()
	}
	plan := burst(each, connections)
	if c.timeout > 0 {
		plan.Timeout = c.timeout
	}
	if slices.Contains(allowed, "timeout") { // the driver under test accepts more, and waits for bytes that never arrive
		plan.Timeout = briefly
	}
	totals := drive(t, t.Context(), plan, open(serve(t, c.script).url, requests, connections))
	expect(t, totals, each, append(allowed, c.want)...)
	if len(allowed) > 0 {
		return
	}
	wantFailed := int64(each)
	if status, err := strconv.Atoi(c.want); err == nil && requests.Classes[0].Check.PassStatus(status) && !c.failsContent {
		wantFailed = 0
	}
	if totals.Failed != wantFailed {
		t.Errorf("%d of %d requests failed, want %d: %v", totals.Failed, each, wantFailed, totals.Errors)
	}
}

const (
	ok128 = "HTTP/1.1 200 OK\r\nContent-Length: 128\r\n\r\n" + body128
	// body128 looks like two answers, so that a driver which miscounts the body's bytes fails.
	body128 = "HTTP/1.1 500 Not an answer\r\nContent-Length: 0\r\n\r\n" +
		"HTTP/1.1 500 Not an answer\r\nContent-Length: 0\r\n\r\n" + "0123456789abcdefghij0123456789"
	chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	// briefly is a timeout for targets that never answer; its value does not affect the outcome.
	briefly = 50 * time.Millisecond
)

var cases = []testCase{
	// Well-formed answers.
	{name: "content-length", script: answer(ok128), want: "200"},
	{name: "connection-close", script: once("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), want: "200"},
	{name: "connection-close-held", script: hold("HTTP/1.1 200 OK\r\nConnection: Foo, CLOSE\r\nContent-Length: 2\r\n\r\nok"), want: "200"},
	{name: "close-delimited", script: once("HTTP/1.1 200 OK\r\n\r\n" + body128), want: "200"},
	{name: "http10", script: once("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), want: "200"},
	{name: "http10-keep-alive", script: answer("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"), want: "200"},
	{name: "no-reason", script: answer("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"), want: "200"},
	{name: "same-length-twice", script: answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok"), want: "200"},
	{name: "chunked", script: answer(chunked + "80\r\n" + body128 + "\r\n2\r\nok\r\n0\r\n\r\n"), want: "200"},
	{name: "chunk-extension", script: answer(chunked + "2;a=b;c=\"d\"\r\nok\r\n0;last\r\n\r\n"), want: "200"},
	{name: "chunk-trailer", script: answer("HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"), want: "200"},
	{name: "continue", script: answer("HTTP/1.1 100 Continue\r\n\r\n" + ok128), want: "200", corpus: post(10)},
	{name: "early-hints", script: answer("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + ok128), want: "200"},
	{name: "head", script: answer("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"), want: "200", corpus: method("HEAD")},
	{name: "head-chunked", script: answer(chunked), want: "200", corpus: method("HEAD")},
	{name: "204", script: answer("HTTP/1.1 204 No Content\r\n\r\n"), want: "204"},
	{name: "304", script: answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n"), want: "304"},
	{name: "404", script: answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), want: "404"},
	{name: "503", script: answer("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"), want: "503"},
	{name: "long-body", script: answer("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20)), want: "200"},
	{name: "long-request", script: answer(ok128), want: "200", corpus: post(4 << 20)},
	{name: "long-header", script: answer("HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 60<<10) + "\r\nContent-Length: 2\r\n\r\nok"), want: "200"},
	{name: "byte-by-byte", script: trickled(ok128), want: "200"},
	{name: "byte-by-byte-chunked", script: trickled(chunked + "2;ext\r\nok\r\n10\r\n0123456789abcdef\r\n0\r\nX: y\r\n\r\n"), want: "200"},
	{name: "early-answer", script: early(true), want: "413", corpus: post(8 << 20)},
	{name: "early-answer-kept", script: early(false), want: "413", corpus: post(8 << 20)},

	// Answers that pass or fail their check.
	{name: "check-status", script: answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), want: "200",
		corpus: checked(workload.Check{Status: []int{202}})},
	{name: "check-status-passes", script: answer("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"), want: "404",
		corpus: checked(workload.Check{Status: []int{202, 404}})},
	{name: "check-header", script: answer("HTTP/1.1 200 OK\r\nX-Kind: plain\r\nContent-Length: 0\r\n\r\n"), want: "200", failsContent: true,
		corpus: checked(workload.Check{Header: map[string]string{"X-Kind": "json"}})},
	{name: "check-header-passes", script: trickled("HTTP/1.1 200 OK\r\nx-kind:application/json \r\nContent-Length: 0\r\n\r\n"), want: "200",
		corpus: checked(workload.Check{Header: map[string]string{"X-Kind": "json"}})},
	{name: "check-json", script: answer("HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n" + `{"result":{"status":"no"}}`), want: "200", failsContent: true, corpus: checked(wantYes)},
	{name: "check-json-passes", script: answer("HTTP/1.1 200 OK\r\nContent-Length: 27\r\n\r\n" + `{"result":{"status":"yes"}}`), want: "200", corpus: checked(wantYes)},
	{name: "check-json-chunked", script: trickled(chunked + "1;x\r\n{\r\n1a\r\n" + `"result":{"status":"yes"}}` + "\r\n0\r\n\r\n"), want: "200", corpus: checked(wantYes)},
	{name: "check-json-close-delimited", script: once("HTTP/1.1 200 OK\r\n\r\n" + `{"result":{"status":"yes"}}`), want: "200", corpus: checked(wantYes)},

	// Answers that break the protocol.
	{name: "not-http", script: hold("SSH-2.0-OpenSSH_9.9\r\n\r\n"), want: "malformed"},
	{name: "http2", script: hold("HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "short-status", script: hold("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "word-status", script: hold("HTTP/1.1 abc OK\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "status-0", script: hold("HTTP/1.1 001 OK\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "header-without-colon", script: hold("HTTP/1.1 200 OK\r\nContent-Length 0\r\n\r\n"), want: "malformed"},
	{name: "header-without-name", script: hold("HTTP/1.1 200 OK\r\n: x\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "space-before-colon", script: hold("HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n"), want: "malformed"},
	{name: "folded-header", script: hold("HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "nul-in-header", script: hold("HTTP/1.1 200 OK\r\nX-A: b\x00c\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "bare-lf", script: hold("HTTP/1.1 200 OK\nContent-Length: 0\n\n"), want: "malformed"},
	{name: "bare-cr", script: hold("HTTP/1.1 200 OK\r\nX-A: b\rc\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "huge-header", script: hold("HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 64<<10) + "\r\nContent-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "endless-header", script: hold("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 10<<10) + "Content-Length: 0\r\n\r\n"), want: "malformed"},
	{name: "lengths-differ", script: hold("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok\n"), want: "malformed"},
	{name: "length-list-differs", script: hold("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok\n"), want: "malformed"},
	{name: "length-plus", script: hold("HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok"), want: "malformed"},
	{name: "length-minus", script: hold("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok"), want: "malformed"},
	{name: "length-hex", script: hold("HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok"), want: "malformed"},
	{name: "length-empty", script: hold("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nok"), want: "malformed"},
	{name: "length-overflow", script: hold("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551618\r\n\r\nok"), want: "malformed"},
	{name: "length-and-chunked", script: hold("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "unknown-encoding", script: hold("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n2\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunked-twice", script: hold("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunked-http10", script: hold("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunk-size-word", script: hold(chunked + "xyz\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunk-size-minus", script: hold(chunked + "-2\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunk-size-empty", script: hold(chunked + "\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunk-size-overflow", script: hold(chunked + "10000000000000002\r\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunk-bare-lf", script: hold(chunked + "2\nok\r\n0\r\n\r\n"), want: "malformed"},
	{name: "chunk-too-long", script: hold(chunked + "2\r\nokk\r\n0\r\n\r\n"), want: "malformed"},
	{name: "bad-trailer", script: hold(chunked + "2\r\nok\r\n0\r\nno colon\r\n\r\n"), want: "malformed"},
	{name: "switching-protocols", script: hold("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), want: "malformed"},
	{name: "surplus", script: hold("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more"), want: "malformed"},
	{name: "surplus-after-204", script: hold("HTTP/1.1 204 No Content\r\n\r\nbody"), want: "malformed"},
	{name: "surplus-after-head", script: hold("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), want: "malformed", corpus: method("HEAD")},

	// Answers that are missing or incomplete.
	{name: "closed-at-once", script: once(""), want: "closed"},
	{name: "closed-in-status-line", script: once("HTTP/1.1 20"), want: "closed"},
	{name: "closed-in-header", script: once("HTTP/1.1 200 OK\r\nContent-Le"), want: "closed"},
	{name: "closed-after-continue", script: once("HTTP/1.1 100 Continue\r\n\r\n"), want: "closed"},
	{name: "closed-in-body", script: once("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), want: "closed"},
	{name: "closed-in-chunk", script: once(chunked + "3\r\nok"), want: "closed"},
	{name: "closed-before-last-chunk", script: once(chunked + "2\r\nok\r\n"), want: "closed"},
	{name: "closed-in-trailer", script: once(chunked + "2\r\nok\r\n0\r\n"), want: "closed"},
	{name: "reset-at-once", script: reset(""), want: "reset"},
	{name: "reset-in-body", script: reset("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nok"), want: "reset"},
	{name: "reset-in-close-delimited", script: reset("HTTP/1.1 200 OK\r\n\r\nok"), want: "reset"},
	{name: "silent", script: stall(""), want: "timeout", timeout: briefly},
	{name: "silent-in-header", script: stall("HTTP/1.1 200 OK\r\n"), want: "timeout", timeout: briefly},
	{name: "silent-in-body", script: stall("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), want: "timeout", timeout: briefly},
	{name: "silent-in-chunk", script: stall(chunked + "3\r\nok"), want: "timeout", timeout: briefly},
	{name: "silent-after-continue", script: stall("HTTP/1.1 100 Continue\r\n\r\n"), want: "timeout", timeout: briefly},
	{name: "does-not-read", script: func(p *peer) { <-p.server.over }, want: "timeout", timeout: briefly, corpus: post(8 << 20)},
}

var wantYes = workload.Check{JSON: []workload.JSONTest{{Path: "result.status", Equals: "yes"}}}

// trickled answers every request one byte at a time.
func trickled(s string) func(p *peer) {
	return func(p *peer) {
		for {
			if _, _, ok := p.request(); !ok {
				return
			}
			p.trickle(s)
		}
	}
}

// reset answers one request with part of an answer and an RST.
func reset(s string) func(p *peer) {
	return func(p *peer) {
		if _, _, ok := p.request(); ok {
			p.send(s)
			p.reset()
		}
	}
}

// stall begins an answer and never completes it.
func stall(s string) func(p *peer) {
	return func(p *peer) {
		if _, _, ok := p.request(); ok {
			p.send(s)
			p.gone()
		}
	}
}

// early answers as soon as it has read the header, while the client still sends the body. If last
// is true it then ends the connection; otherwise it reads the rest of the body and goes on.
func early(last bool) func(p *peer) {
	return func(p *peer) {
		for {
			r, err := http.ReadRequest(p.in)
			if err != nil {
				return
			}
			if last {
				p.send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				p.gone()
				return
			}
			p.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
			io.Copy(io.Discard, r.Body)
		}
	}
}
