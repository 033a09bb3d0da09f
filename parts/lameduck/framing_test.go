package lameduck_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dyno/parts/lameduck"
	"dyno/parts/lameduck/lameducktest"
)

// A request with two lengths is refused, and bytes after it are not read as a request.
func TestTwoLengths(t *testing.T) {
	const chunked = "5\r\nhello\r\n0\r\n\r\n"
	post := func(headers, body string) string {
		return "POST / HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body
	}
	p := start(t, nil, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	defer p.drain(t)
	lameducktest.Framing(t, "/", func() (net.Conn, error) { return net.Dial("tcp", p.address) })
	for name, c := range map[string]struct {
		requests []string // each sent after the response to the one before
		statuses []int
		ends     bool // the connection ends after the last response
	}{
		"chunked alone":    {[]string{post("Transfer-Encoding: chunked\r\n", chunked), get}, []int{200, 200}, false},
		"length first":     {[]string{post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", chunked)}, []int{400}, true},
		"length last":      {[]string{post("transfer-encoding: chunked\r\ncontent-length: 15\r\n", chunked)}, []int{400}, true},
		"after another":    {[]string{get, post("Transfer-Encoding: chunked\r\nContent-Length:4\r\n", chunked)}, []int{200, 400}, true},
		"said in the body": {[]string{post("Transfer-Encoding: chunked\r\n", "15\r\n\r\n\r\nContent-Length: 9\r\n0\r\n\r\n"), get}, []int{200, 200}, false},
		"its head half ahead of the answer": {[]string{
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nA: ",
			"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked}, []int{200, 400}, true},
		"its head half behind a body": {[]string{
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000) + "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n",
			"Transfer-Encoding: chunked\r\n\r\n" + chunked}, []int{200, 400}, true},
		"ahead of the answer":                 {[]string{get + post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", chunked)}, []int{200, 400}, true},
		"behind a chunked body":               {[]string{post("Transfer-Encoding: chunked\r\n", chunked) + post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", chunked)}, []int{200, 400}, true},
		"behind what net/http answers itself": {[]string{"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" + post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", chunked)}, []int{200, 400}, true},
		"behind that, and a CR after a body": {[]string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nz\rOPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" +
			post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", chunked)}, []int{200, 200, 400}, true},
		"of what net/http answers itself": {[]string{"OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, get}, []int{200, 400}, true},
		"folded":                          {[]string{post("Content-Length:\r\n 5\r\n", "hello") + post("Transfer-Encoding: chunked\r\n", chunked), get}, []int{200, 200, 200}, false},
		"empty lines before":              {[]string{post("Content-Length: 5\r\n", "hello\r\n") + post("Transfer-Encoding: chunked\r\n", chunked), get}, []int{200, 200, 200}, false},
		"a trailer and extensions":        {[]string{post("Transfer-Encoding: chunked\r\n", "5;name=value\r\nhello\r\n0\r\nContent-Length: 3\r\nA: b\r\n\r\n"), post("Transfer-Encoding: chunked\r\n", chunked), get}, []int{200, 200, 200}, false},
		"coded in HTTP/1.0":               {[]string{"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked}, []int{400}, true},
		"a target of any length":          {[]string{"POST /" + strings.Repeat("x", 9000) + " HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked}, []int{400}, true},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", p.address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			var last *http.Response
			for i, status := range c.statuses {
				if i < len(c.requests) {
					fmt.Fprint(conn, c.requests[i])
				}
				if last = answer(t, in); last.StatusCode != status {
					t.Fatalf("answer %d is %s, want %d", i, last.Status, status)
				}
			}
			if last.Close != c.ends {
				t.Errorf("the connection ends: %t, want %t", last.Close, c.ends)
			}
		})
	}
}

// Chunked requests keep their connection, however long their heads are, with TLS and without; both
// lengths are refused with TLS, too, also behind another request and in pieces.
func TestChunkedStays(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	for name, config := range map[string]*tls.Config{"plain": nil, "TLS": {Certificates: certified.TLS.Certificates}, "TLS with HTTP/2": {
		Certificates: certified.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}} {
		t.Run(name, func(t *testing.T) {
			p := start(t, config, func(w http.ResponseWriter, r *http.Request) {
				if (r.TLS != nil) != (config != nil) {
					t.Errorf("TLS is %v", r.TLS)
				}
				io.Copy(w, r.Body)
			})
			defer p.drain(t)
			dial := func() (net.Conn, error) {
				if config == nil {
					return net.Dial("tcp", p.address)
				}
				return tls.Dial("tcp", p.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
			}
			conn, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			for _, long := range []int{10, 5000, 10, 20_000, 300, 10} {
				fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nA: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
					strings.Repeat("a", long), long, strings.Repeat("b", long))
				if resp := answer(t, in); resp.StatusCode != http.StatusOK || resp.Close {
					t.Fatalf("%d bytes: %s, the connection ends: %t", long, resp.Status, resp.Close)
				}
			}
			for _, piece := range strings.SplitAfter("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "") {
				io.WriteString(conn, piece)
			}
			if resp := answer(t, in); resp.StatusCode != http.StatusBadRequest || !resp.Close {
				t.Errorf("two lengths: %s, the connection ends: %t", resp.Status, resp.Close)
			}
			lameducktest.Framing(t, "/", dial)
		})
	}
}

func FuzzHasLength(f *testing.F) {
	f.Add([]byte("Host: x\r\nContent-Length: 1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		if lameduck.HasLength(head) && !bytes.Contains(bytes.ToLower(head), []byte("content-length")) {
			t.Errorf("%q", head)
		}
	})
}
