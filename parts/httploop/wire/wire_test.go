package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const testBody = 300

// request is a head with its body.
type request struct {
	Head
	body []byte
}

// reader feeds a parser as a connection does: parsed bytes stay in place, and new bytes arrive in
// pieces.
type reader struct {
	buf  []byte
	next int
	r    *request
	body Body
}

// feed adds bytes and returns the request once it is complete, with the bytes that follow it.
func (p *reader) feed(b []byte) (r *request, rest []byte, err error) {
	p.buf = append(p.buf, b...)
	if p.r == nil {
		end, next, bad := FindHead(p.buf, p.next, 16<<10)
		if p.next = next; bad != nil {
			return nil, nil, bad
		}
		if end == 0 {
			return nil, nil, nil
		}
		r := &request{}
		if p.body, bad = r.Parse(bytes.Clone(p.buf[:end]), testBody); bad != nil {
			return nil, nil, bad
		}
		p.r, p.buf = r, p.buf[end:]
	}
	n, rest, whole, bad := p.body.Read(p.buf, testBody)
	if p.buf = rest; bad != nil {
		return nil, nil, bad
	}
	if !whole {
		return nil, nil, nil
	}
	p.r.body = rest[:n]
	return p.r, rest[n:], nil
}

// show returns all that a service sees of the bytes: the requests, and the error that ended the
// connection.
func show(b []byte, piece int) string {
	var out strings.Builder
	p := &reader{}
	for from := 0; from < len(b); from += piece {
		r, rest, err := p.feed(b[from:min(from+piece, len(b))])
		for ; r != nil; r, rest, err = p.feed(rest) {
			fmt.Fprintf(&out, "%s %q %q %q %q %q close=%v\n", r.Method, r.Target, r.Path, r.Query, r.Host, r.body, r.Last)
			for _, f := range r.Fields {
				fmt.Fprintf(&out, " %q: %q\n", f.Name, f.Value)
			}
			if r.Last {
				return out.String()
			}
			p = &reader{}
		}
		if err != nil {
			fmt.Fprintf(&out, "%v\n", err)
			return out.String()
		}
	}
	return out.String()
}

// checkAgainstNetHTTP fails when the first request of b is accepted and net/http rejects it or
// reads another request.
func checkAgainstNetHTTP(t *testing.T, b []byte) {
	t.Helper()
	p := &reader{}
	r, rest, err := p.feed(b)
	if r == nil || err != nil {
		return
	}
	in := bytes.NewReader(b)
	buffered := bufio.NewReaderSize(in, len(b)+16)
	want, err := http.ReadRequest(buffered)
	if err != nil {
		t.Fatalf("%q is accepted; net/http: %v", b, err)
	}
	body, err := io.ReadAll(want.Body)
	if err != nil {
		t.Fatalf("%q: the body is accepted; net/http: %v", b, err)
	}
	host := want.Host
	if r.Method != want.Method || r.Target != want.RequestURI || r.Path != want.URL.Path || r.Query != want.URL.RawQuery || r.Host != host || !bytes.Equal(r.body, body) {
		t.Fatalf("%q: %s %q %q %q %q %q; net/http: %s %q %q %q %q %q", b, r.Method, r.Target, r.Path, r.Query, r.Host, r.body,
			want.Method, want.RequestURI, want.URL.Path, want.URL.RawQuery, host, body)
	}
	lengthless := !want.ProtoAtLeast(1, 1) && want.Header.Get("Content-Length") == "" && r.Method != "GET" && r.Method != "HEAD"
	if r.Last != (want.Close || lengthless) {
		t.Fatalf("%q: the last of its connection: %v; net/http: %v", b, r.Last, want.Close)
	}
	got := http.Header{}
	for _, f := range r.Fields {
		got.Add(f.Name, f.Value)
	}
	for name, values := range want.Header {
		if name != "Host" && fmt.Sprint(got[name]) != fmt.Sprint(values) {
			t.Fatalf("%q: %s: %q; net/http: %q", b, name, got[name], values)
		}
	}
	left, err := io.ReadAll(buffered)
	if err != nil || !bytes.Equal(left, rest) {
		t.Fatalf("%q: %q follows; net/http: %q, %v", b, rest, left, err)
	}
}

// A request of HTTP/1.0 keeps its connection where the client asks for it and its end is known, and
// its response says so.
func TestKeepAlive(t *testing.T) {
	for text, want := range map[string]bool{
		"GET / HTTP/1.0\r\n\r\n":                                                            false,
		"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n":                                  true,
		"HEAD / HTTP/1.0\r\nConnection: a, keep-alive\r\n\r\n":                              true,
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n":             false,
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n":                                 false,
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n":            true,
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc":         true,
		"POST / HTTP/1.0\r\nKeep-Alive: 5\r\nContent-Length: 3\r\n\r\nabc":                  false,
		"POST / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, close\r\n\r\n":               false,
		"POST / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n": true,
	} {
		r, _, err := (&reader{}).feed([]byte(text))
		if err != nil || r.Last == want {
			t.Errorf("%q: the last %t, %v", text, r.Last, err)
		}
		p := Response{Status: http.StatusOK}
		agreed := want && r.old
		written := func(closing bool) string {
			b, _ := p.AppendHead(nil, &r.Head, nil, closing)
			return string(b)
		}
		head := written(r.Last)
		if strings.Contains(head, "\r\nConnection: keep-alive\r\n") != agreed || strings.Contains(head, "\r\nConnection: close\r\n") == want {
			t.Errorf("%q: %q", text, head)
		}
		if head := written(true); strings.Contains(head, "keep-alive") {
			t.Errorf("%q, and the connection ends: %q", text, head)
		}
		checkAgainstNetHTTP(t, []byte(text))
	}
}

// seeds are requests with the status of their refusal; 0 means that they are accepted.
var seeds = map[string]int{
	"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                                                                               0,
	"GET /a%20b?c=d%20e HTTP/1.1\r\nHost: x:80\r\nAccept:  a, b\t\r\nAccept: c\r\n\r\n":                               0,
	"GET http://h/p?q HTTP/1.1\r\nHost: x\r\n\r\n":                                                                    0,
	"GET https://h:443/p?q HTTP/1.1\r\nHost: x\r\n\r\n":                                                               0,
	"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n":                                                                           0,
	"GET / HTTP/1.0\r\n\r\n":                                                                                          0,
	"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n":                                                                0,
	"GET / HTTP/1.1\r\nHost: x\r\nConnection: a, CLOSE\r\n\r\n":                                                       0,
	"GET / HTTP/1.1\r\nHost:\r\nEmpty:\r\n\r\n":                                                                       0,
	"GET / HTTP/1.1\r\nHost: x\r\nX: \x80\xff\r\n\r\n":                                                                0,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET":                                                   0,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 003\r\nExpect: 100-Continue\r\n\r\nabc":                            0,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\nA;x=\"y\"\r\n0123456789\r\n0\r\n\r\nG": 0,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n":       0,

	"GET / HTTP/1.1\nHost: x\n\n":                                                                400,
	"GET / HTTP/1.1\r\nHost: x\n\r\n":                                                            400,
	"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n":                                                      400,
	"GET  / HTTP/1.1\r\nHost: x\r\n\r\n":                                                         400,
	"GET / HTTP/1.1 \r\nHost: x\r\n\r\n":                                                         400,
	"GET / a HTTP/1.1\r\nHost: x\r\n\r\n":                                                        400,
	"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n":                                                      400,
	"GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n":                                                      400,
	"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                                       400,
	"GET a HTTP/1.1\r\nHost: x\r\n\r\n":                                                          400,
	"GET https://u@h/ HTTP/1.1\r\nHost: x\r\n\r\n":                                               400,
	"G(T / HTTP/1.1\r\nHost: x\r\n\r\n":                                                          400,
	"GET ftp://h/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                   400,
	"GET https:///a HTTP/1.1\r\nHost: x\r\n\r\n":                                                 400,
	"CONNECT h:1 HTTP/1.1\r\nHost: x\r\n\r\n":                                                    400,
	"GET / http/1.1\r\nHost: x\r\n\r\n":                                                          400,
	"GET / HTTP/2.0\r\nHost: x\r\n\r\n":                                                          505,
	"GET / HTTP/1.2\r\nHost: x\r\n\r\n":                                                          505,
	"GET /\r\n\r\n":                                                                              400,
	"GET / HTTP/1.1\r\n\r\n":                                                                     400,
	"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n":                                               400,
	"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n":                                               400,
	"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n":                                                        400,
	"GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n":                                                 400,
	"GET / HTTP/1.1\r\nHost: x\r\n A: b\r\n\r\n":                                                 400,
	"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n":                                            400,
	"GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n":                                                   400,
	"GET / HTTP/1.1\r\nHost: x\r\nA\r\n\r\n":                                                     400,
	"GET / HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n":                                             400,
	"GET / HTTP/1.1\r\nHost: x\r\nA: some longer value\x01 in it\r\n\r\n":                        400,
	"GET / HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n":                                               400,
	"GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n":                                        417,
	"GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 200) + "\r\n":                   431,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 301\r\n\r\n":                                  413,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n":              413,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc":                                400,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc":                               400,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc":                              400,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n":                                      400,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc":            400,
	"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\ntransfer-encoding: chunked\r\n\r\n":      400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n":            400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n":                          400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n":              400,
	"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                             400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n":          400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n":       400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n":       400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n":      400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\r\n":                       400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;\x01\r\na\r\n0\r\n\r\n":   400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n":       413,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n12d\r\n":                    413,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n00000000000000001\r\n":      400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA b: c\r\n\r\n":        400,
	"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nHost: x\r\n :\r\n":     400,
	"POST / HTTP/1.1\r\nHost: x\r\nTrailer: Host, Trailer\r\nTransfer-Encoding: chunked\r\n\r\n": 400,
}

func TestParse(t *testing.T) {
	for text, want := range seeds {
		var refused *Refusal
		r, _, err := (&reader{}).feed([]byte(text))
		switch {
		case errors.As(err, &refused):
			if refused.Status != want {
				t.Errorf("%q: %d %v, want %d", text, refused.Status, err, want)
			}
		case r == nil || want != 0:
			t.Errorf("%q: %v, %v, want %d", text, r, err, want)
		}
		checkAgainstNetHTTP(t, []byte(text))
		for piece := 1; piece < len(text); piece++ {
			if got, want := show([]byte(text), piece), show([]byte(text), len(text)); got != want {
				t.Fatalf("%q in pieces of %d:\n%s\nwhole:\n%s", text, piece, got, want)
			}
		}
	}
}

// For any input, net/http reads an accepted request the same way, and the split into reads makes no
// difference. Refused although net/http accepts them are only the cases of the package comment:
// ambiguous framing, obsolete line endings and continued lines, versions and targets that are not
// served.
func FuzzParse(f *testing.F) {
	for text := range seeds {
		f.Add([]byte(text), uint8(1))
		f.Add([]byte(text), uint8(7))
	}
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		checkAgainstNetHTTP(t, b)
		if got, want := show(b, 1+int(piece)), show(b, max(1, len(b))); got != want {
			t.Errorf("%q in pieces of %d:\n%s\nwhole:\n%s", b, 1+int(piece), got, want)
		}
	})
}
