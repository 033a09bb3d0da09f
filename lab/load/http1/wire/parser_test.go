package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// result is the outcome of a stream of answers.
type result struct {
	status  []int
	bodies  []string
	persist []bool
	bad     bool
	eof     bool // the last answer ends with the connection
}

// parse feeds a stream to a Parser in pieces and reads all its answers.
func parse(pieces [][]byte, toHead, keep bool, known *KnownHead) (out result) {
	p := &Parser{}
	p.Begin(toHead, keep)
	for _, in := range pieces {
		for len(in) > 0 {
			rest, v := p.Feed(in, known)
			if v == Malformed {
				out.bad = true
				return out
			}
			if v == Incomplete {
				break
			}
			out.note(p)
			in = rest
			p.Begin(toHead, keep)
		}
	}
	if p.EOF() {
		out.eof = true
		out.note(p)
	}
	return out
}

func (r *result) note(p *Parser) {
	r.status = append(r.status, p.head.status)
	r.persist = append(r.persist, p.Persists())
	if p.keep != nil {
		r.bodies = append(r.bodies, string(p.keep.body))
	}
}

func (r *result) equal(o *result) bool {
	return r.bad == o.bad && r.eof == o.eof && len(r.status) == len(o.status) && strings.Join(r.bodies, "|") == strings.Join(o.bodies, "|") &&
		string(statusBytes(r)) == string(statusBytes(o))
}

func statusBytes(r *result) (b []byte) {
	for i := range r.status {
		b = append(b, byte(r.status[i]>>8), byte(r.status[i]))
		if r.persist[i] {
			b = append(b, 1)
		}
	}
	return b
}

var seeds = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n1\r\n \r\n0\r\n\r\nHTTP/1.0 500 x\r\n\r\nthe rest",
	"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx",
	"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
	"HTTP/1.1 200 OK\r\n\r\nuntil the end",
	"HTTP/1.1 2",
}

// The result does not depend on where a stream is cut, on whether the head was seen before, or on
// whether the content is kept.
func FuzzParserCuts(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), uint16(1), uint16(7), false)
		f.Add([]byte(s), uint16(9), uint16(30), true)
	}
	f.Fuzz(func(t *testing.T, stream []byte, a, b uint16, toHead bool) {
		whole := parse([][]byte{stream}, toHead, true, &KnownHead{})
		x, y := min(int(a), len(stream)), min(int(b), len(stream))
		x, y = min(x, y), max(x, y)
		cut := parse([][]byte{stream[:x], stream[x:y], stream[y:]}, toHead, true, &KnownHead{})
		if !whole.equal(&cut) {
			t.Fatalf("whole %+v, cut at %d and %d %+v", whole, x, y, cut)
		}
		known := &KnownHead{}
		whole.bodies = nil
		for range 2 {
			if again := parse([][]byte{stream}, toHead, false, known); !whole.equal(&again) {
				t.Fatalf("kept %+v, passed over %+v", whole, again)
			}
		}
	})
}

// net/http reads every answer that the Parser accepts in the same way.
func FuzzParserAgainstNetHTTP(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		ours := parse([][]byte{stream}, false, true, &KnownHead{})
		in := bufio.NewReader(bytes.NewReader(stream))
		for i, status := range ours.status {
			r, err := http.ReadResponse(in, nil)
			for err == nil && r.StatusCode < 200 {
				r, err = http.ReadResponse(in, nil)
			}
			if err != nil {
				t.Fatalf("answer %d of %+v: net/http says %v", i, ours, err)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != status || string(body) != ours.bodies[i] {
				t.Fatalf("answer %d: status %d, body %q; net/http reads %d, %q, %v", i, status, ours.bodies[i], r.StatusCode, body, err)
			}
			if ours.persist[i] && r.Close {
				t.Fatalf("answer %d keeps the connection, net/http closes it", i)
			}
		}
	})
}

// Valid answers are read as they were built, however they are cut.
func TestParserReadsWhatWasBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream bytes.Buffer
		var want []string
		for range rapid.IntRange(1, 5).Draw(t, "answers") {
			for range rapid.IntRange(0, 2).Draw(t, "interim") {
				stream.WriteString("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
			}
			body := rapid.StringN(0, 40, 200).Draw(t, "body")
			want = append(want, body)
			stream.WriteString("HTTP/1.1 200 OK\r\nServer: " + rapid.StringMatching(`[ -~]*`).Draw(t, "value") + "\r\n")
			if rapid.Bool().Draw(t, "chunked") {
				stream.WriteString("transfer-encoding:chunked\r\n\r\n")
				w := rapid.IntRange(1, 20).Draw(t, "chunk")
				for rest := body; rest != ""; {
					n := min(w, len(rest))
					stream.WriteString(hex(n) + ";ext=1\r\n" + rest[:n] + "\r\n")
					rest = rest[n:]
				}
				stream.WriteString("0\r\n\r\n")
			} else {
				stream.WriteString("CONTENT-LENGTH: " + decimal(len(body)) + "\r\n\r\n" + body)
			}
		}
		var pieces [][]byte
		for rest := stream.Bytes(); len(rest) > 0; {
			n := min(rapid.IntRange(1, 60).Draw(t, "piece"), len(rest))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		got := parse(pieces, false, true, &KnownHead{})
		if got.bad || strings.Join(got.bodies, "|") != strings.Join(want, "|") {
			t.Fatalf("read %+v, want bodies %q", got, want)
		}
	})
}

func decimal(n int) string { return string(appendBase(nil, n, 10)) }
func hex(n int) string     { return string(appendBase(nil, n, 16)) }

func appendBase(b []byte, n, base int) []byte {
	if n >= base {
		b = appendBase(b, n/base, base)
	}
	return append(b, "0123456789abcdef"[n%base])
}

// An answer whose head was seen before costs no allocation, cut or whole.
func TestParserDoesNotAllocate(t *testing.T) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: x\r\n\r\nok")
	p, known := &Parser{}, &KnownHead{}
	feed := func(pieces ...[]byte) {
		p.Begin(false, false)
		for _, in := range pieces {
			p.Feed(in, known)
		}
	}
	feed(answer[:20], answer[20:])
	for name, pieces := range map[string][][]byte{"whole": {answer}, "cut": {answer[:20], answer[20:]}} {
		if n := testing.AllocsPerRun(100, func() { feed(pieces...) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkParser(b *testing.B) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: application/json\r\nDate: Sat, 21 Nov 2026 21:00:00 GMT\r\n\r\nok")
	for name, known := range map[string]bool{"known": true, "new": false} {
		b.Run(name, func(b *testing.B) {
			p, k := &Parser{}, &KnownHead{}
			for b.Loop() {
				p.Begin(false, false)
				if !known {
					k.bytes = k.bytes[:0]
				}
				if _, v := p.Feed(answer, k); v != Complete {
					b.Fatal(v)
				}
			}
		})
	}
}
