package lameduck

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Whatever net/http reads as a request, and its body, framing has followed to the same byte; or it
// has found the request to be bad, or has given up, after which no request is known.
func FuzzFraming(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\nHost: x\nContent-Length: 3\n\nabcGET / HTTP/1.0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0 \r\n\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabcOPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n",
		"GET /" + strings.Repeat("a", 300) + " HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\nGET / HTTP/1.0\r\n\r\n",
	} {
		f.Add([]byte(s), 7)
	}
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		var follow framing
		all := bytes.NewReader(sent)
		in := bufio.NewReader(all)
		at, known := 0, uint64(0)
		for {
			r, err := http.ReadRequest(in)
			if err != nil || r.ProtoMajor != 1 { // the server refuses others
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			end := len(sent) - all.Len() - in.Buffered()
			for step := 1 + max(0, piece)%100; at < end; {
				next := min(end, at+step)
				follow.read(sent[at:next])
				at = next
			}
			if follow.over.Load() {
				return
			}
			if !strings.HasPrefix(r.Method+" "+r.RequestURI+" ", "OPTIONS * ") {
				known++
			}
			if follow.part != inRequestLine || follow.heads.Load() != known {
				t.Fatalf("after %q: part %d, %d of %d heads", sent[:end], follow.part, follow.heads.Load(), known)
			}
		}
	})
}
