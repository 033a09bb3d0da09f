package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// unread parses the first request of b in pieces with a limit of its body, and returns what another
// server would receive after that limit was exceeded; false: it was not, or the length was known.
func unread(b []byte, piece, most int, continued bool) (all []byte, ok bool) {
	end, _, refused := FindHead(b, 0, 16<<10)
	if end == 0 || refused != nil {
		return nil, false
	}
	var r Head
	head := bytes.Clone(b[:end])
	body, refused := r.Parse(head, most)
	if refused != nil {
		return nil, false
	}
	if continued {
		body.Awaited()
	}
	var buf []byte
	for from := end; from < len(b); from += piece {
		next := min(from+piece, len(b))
		buf = append(buf, b[from:next]...)
		_, rest, whole, refused := body.Read(buf, most)
		buf = rest
		if whole {
			return nil, false
		}
		if errors.Is(refused, errLongBody) {
			body.Read(buf, most) // a connection may look again
			return append(body.Unread(head, buf), b[next:]...), true
		}
		if refused != nil {
			return nil, false
		}
	}
	return nil, false
}

// seen returns what net/http reads in bytes: the first request, and what follows it.
func seen(b []byte, without string) string {
	in := bufio.NewReaderSize(bytes.NewReader(b), len(b)+16)
	r, err := http.ReadRequest(in)
	if err != nil {
		return "no request"
	}
	r.Header.Del(without)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Sprintf("%s %s %v: a body that is broken", r.Method, r.RequestURI, r.Header)
	}
	rest, _ := io.ReadAll(in)
	return fmt.Sprintf("%s %s %s %v %v %q %v, then %q", r.Method, r.RequestURI, r.Host, r.Header, r.TransferEncoding, body, r.Trailer, rest)
}

func checkUnread(t *testing.T, b []byte, piece, most int) (left bool) {
	t.Helper()
	for continued, without := range map[bool]string{false: "", true: "Expect"} {
		got, ok := unread(b, piece, most, continued)
		if !ok {
			continue
		}
		left = true
		if got, want := seen(got, ""), seen(b, without); got != want {
			t.Errorf("%q in pieces of %d with a limit of %d:\nleft  %s\nwhole %s", b, piece, most, got, want)
		}
	}
	return left
}

const (
	chunkedHead = "POST /a HTTP/1.1\r\nHost: x\r\nexpect: 100-continue\r\nExpected: y\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n"
	chunkedBody = "1\r\na\r\nA;x=\"y\"\r\n0123456789\r\n00\r\nX: z\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n"
)

func TestUnread(t *testing.T) {
	for piece := 1; piece < len(chunkedBody); piece++ {
		for most := range 12 {
			if left := checkUnread(t, []byte(chunkedHead+chunkedBody), piece, most); left != (most < 11) {
				t.Errorf("pieces of %d with a limit of %d: left %v", piece, most, left)
			}
		}
	}
}

// Whatever a body is in, another server that receives it in the middle reads what it would have
// read from its start.
func FuzzUnread(f *testing.F) {
	f.Add([]byte(chunkedHead+chunkedBody), uint8(1), uint8(5))
	f.Add([]byte(chunkedHead+chunkedBody), uint8(9), uint8(0))
	f.Add([]byte(chunkedHead+"5\r\nabcde\r\n5\r\nabcdex\r\n"), uint8(100), uint8(7))
	f.Fuzz(func(t *testing.T, b []byte, piece, most uint8) { checkUnread(t, b, 1+int(piece), int(most)) })
}
