package lameducktest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Framing posts requests whose end is ambiguous to a path, each followed by another request. A
// program must refuse the first and end the connection, so that the bytes that follow are never
// read as a request. For a coding other than chunked net/http answers 501. Equal Content-Lengths,
// which RFC 9112 (6.3) lets a server merge, may be served.
func Framing(t testing.TB, path string, dial func() (net.Conn, error)) {
	t.Helper()
	const body = "5\r\nhello\r\n0\r\n\r\n"
	for _, headers := range []string{
		"Content-Length: 5\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: chunked\r\nContent-Length: 5",
		"content-length: 15\r\ntransfer-encoding: Chunked",
		"Content-Length: 0\r\nTransfer-Encoding: chunked",
		"Content-Length: 5\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
		"Content-Length: 5\r\nContent-Length: 6",
		"Content-Length: 15, 15",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
		"Transfer-Encoding: chunked, chunked",
		"Transfer-Encoding: chunked, chunked\r\nContent-Length: 5",
		"Transfer-Encoding: identity\r\nContent-Length: 15",
		"Content-Length: 15\r\nTransfer-Encoding: identity",
		"Transfer-Encoding : chunked\r\nContent-Length: 15",
		"Content-Length : 15\r\nTransfer-Encoding: chunked",
	} {
		conn, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(patience))
		io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+headers+"\r\n\r\n"+body+"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		in := bufio.NewReader(conn)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%q: %v", headers, err)
		}
		unknown := strings.Contains(headers, "identity") || strings.Count(strings.ToLower(headers), "chunked") > 1
		if resp.StatusCode != http.StatusBadRequest && !(unknown && resp.StatusCode == http.StatusNotImplemented) {
			t.Errorf("%q: %s, want 400", headers, resp.Status)
		}
		if resp.Close {
			io.Copy(io.Discard, resp.Body)
		}
		if _, err := in.ReadByte(); err == nil || !resp.Close {
			t.Errorf("%q: the connection goes on after the refusal (%v, Connection: close %t)", headers, err, resp.Close)
		}
		conn.Close()
	}
}
