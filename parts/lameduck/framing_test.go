package lameduck_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
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
			"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked}, []int{200, 200}, true},
		"its head half behind a body": {[]string{
			"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000) + "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n",
			"Transfer-Encoding: chunked\r\n\r\n" + chunked}, []int{200, 200}, true},
		"ahead of the answer": {[]string{get + post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", chunked)}, []int{200, 200}, true},
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

func FuzzHasLength(f *testing.F) {
	f.Add([]byte("Host: x\r\nContent-Length: 1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		if lameduck.HasLength(head) && !bytes.Contains(bytes.ToLower(head), []byte("content-length")) {
			t.Errorf("%q", head)
		}
	})
}
