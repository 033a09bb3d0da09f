package lameduck

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
)

// framing follows the requests on a connection of HTTP/1, as net/http's server does, to find those
// that have both Transfer-Encoding and Content-Length (RFC 9112, 6.1 and 6.3). Servers and proxies
// that rely on different ones of the two see different ends of the request, and one of them reads
// the rest as the next request, possibly another client's. net/http drops the Content-Length.
//
// Where net/http refuses a request it ends the connection, so that what framing makes of the rest
// is of no consequence.
type framing struct {
	heads atomic.Uint64 // requests for the handler whose head was read
	bad   atomic.Uint64 // number of the first that must not be served, from 1 on; 0: none
	over  atomic.Bool   // the rest is not followed

	served uint64 // requests that the handler was called with; its goroutine owns it

	// The fields below belong to the reader.
	part part
	left uint64 // bytes of the body, or of the chunk
	line []byte // the current one up to maxLine, when it began in an earlier read
	cut  bool   // it is longer
	end  []byte // its last bytes

	head fields
}

// part is of a request.
type part int

const (
	inRequestLine part = iota
	inHeader
	inBody
	inChunkSize
	inChunk
	afterChunk
	inTrailer
)

// fields are what a head says about the end of its request.
type fields struct {
	own     bool // net/http answers it without the handler
	old     bool // HTTP/1.0, which has no Transfer-Encoding
	coded   bool
	sized   bool
	size    []byte
	folding bool // the last line was a Content-Length, which the next may continue
}

const (
	maxLine = 256 // bytes of a line that are looked at; only the fields of framing matter, and chunk sizes
	lastOf  = 16  // bytes that are kept of the end of a longer one, which has a request's version
)

// read is called with all bytes of the connection, in their order.
func (f *framing) read(p []byte) {
	for len(p) > 0 && !f.over.Load() {
		if f.part == inBody || f.part == inChunk {
			n := min(f.left, uint64(len(p)))
			f.left, p = f.left-n, p[n:]
			f.skipped()
			continue
		}
		text, rest, whole := bytes.Cut(p, newline)
		p = rest
		if whole && len(f.line) == 0 && len(text) <= maxLine {
			f.read1(text)
			continue
		}
		f.keep(text)
		if whole {
			line := f.line
			f.line = f.line[:0]
			f.read1(line)
			f.cut, f.end = false, f.end[:0]
		}
	}
	if cap(f.line) > 0 && len(f.line) == 0 {
		f.line, f.end = nil, nil // an idle connection keeps nothing
	}
}

var newline = []byte("\n")

// keep adds a piece to the current line.
func (f *framing) keep(piece []byte) {
	room := maxLine - len(f.line)
	f.line = append(f.line, piece[:min(room, len(piece))]...)
	f.cut = f.cut || len(piece) > room
	f.end = append(f.end, piece[max(0, len(piece)-lastOf):]...)
	f.end = f.end[max(0, len(f.end)-lastOf):]
}

// skipped goes on when a body or a chunk has been read.
func (f *framing) skipped() {
	switch {
	case f.left > 0:
	case f.part == inChunk:
		f.part = afterChunk
	default:
		f.next()
	}
}

// between reports whether all that was read are whole requests, and the handler was called with
// each that is its own. No request may be in progress.
func (f *framing) between() bool {
	return f.part == inRequestLine && len(f.line) == 0 && !f.over.Load() && f.served == f.heads.Load()
}

func (f *framing) next() { f.part, f.head = inRequestLine, fields{} }

// read1 reads a line without its end.
func (f *framing) read1(line []byte) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	switch f.part {
	case inRequestLine:
		if len(line) > 0 { // else it is of the request before (RFC 9112, 2.2)
			last := line
			if f.cut {
				last = bytes.TrimSuffix(f.end, []byte("\r"))
			}
			f.part = inHeader
			f.head.own = bytes.HasPrefix(bytes.TrimLeft(line, "\r"), []byte("OPTIONS * ")) // net/http skips these after a POST
			f.head.old = bytes.HasSuffix(last, []byte(" HTTP/1.0"))
		}
	case inHeader:
		if len(line) == 0 {
			f.begin()
		} else {
			f.field(line)
		}
	case inChunkSize:
		f.chunk(line)
	case afterChunk:
		f.part = inChunkSize
	case inTrailer:
		if len(line) == 0 {
			f.next()
		}
	}
}

// field reads a line of a header.
func (f *framing) field(line []byte) {
	h := &f.head
	if line[0] == ' ' || line[0] == '\t' { // it continues the one before; net/http joins the two
		if h.folding {
			h.size = append(h.size, bytes.TrimSpace(line)...)
			f.giveUpIf(f.cut)
		}
		return
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	h.folding = ok && isLength(name)
	switch {
	case h.folding:
		h.sized, h.size = true, append(h.size[:0], bytes.TrimSpace(value)...)
		f.giveUpIf(f.cut)
	case ok && bytes.EqualFold(bytes.TrimSpace(name), []byte("Transfer-Encoding")):
		h.coded = true
	}
}

// begin goes on at the end of a head.
func (f *framing) begin() {
	h := &f.head
	number := f.heads.Load()
	if number++; !h.own {
		f.heads.Store(number)
	}
	switch {
	case h.coded && (h.sized || h.old):
		f.bad.Store(number)
		f.over.Store(true)
	case h.coded:
		f.part = inChunkSize
	case h.sized:
		var err error
		f.left, err = strconv.ParseUint(string(h.size), 10, 63)
		f.giveUpIf(err != nil)
		f.part = inBody
		f.skipped()
	default:
		f.next()
	}
}

// chunk reads the line with the size of a chunk. An extension may follow it.
func (f *framing) chunk(line []byte) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t\r")), 16, 64)
	f.giveUpIf(err != nil || size > math.MaxInt64)
	if f.left, f.part = size, inChunk; size == 0 {
		f.part = inTrailer
	}
}

// giveUpIf ends the following of a connection on which nothing can be known any more, since
// net/http refuses what was read, or a line is longer than any program makes it.
func (f *framing) giveUpIf(lost bool) {
	if lost {
		f.over.Store(true)
	}
}

// admit answers a request that must not be served with 400, and reports whether the handler may
// answer. After a request of which nothing is known the connection ends, so that nothing can
// follow.
func (f *framing) admit(w http.ResponseWriter, r *http.Request) bool {
	f.served++
	h := w.Header()
	if bad := f.bad.Load(); bad == 0 || f.served < bad {
		if f.served > f.heads.Load() {
			h["Connection"] = []string{"close"}
		}
		return true
	}
	text := "the request has both a Transfer-Encoding and a Content-Length; send one of them"
	if !r.ProtoAtLeast(1, 1) {
		text = "the request has a Transfer-Encoding, which HTTP/1.0 does not have; send a Content-Length"
	}
	h["Connection"], h["Content-Type"] = []string{"close"}, []string{"application/json"}
	w.WriteHeader(http.StatusBadRequest)
	io.WriteString(w, `{"error":"`+text+`"}`+"\n")
	return false
}

// HasLength reports whether a request's head contains a Content-Length.
func HasLength(head []byte) bool {
	for line := range bytes.SplitSeq(head, newline) {
		if name, _, ok := bytes.Cut(line, []byte(":")); ok && isLength(name) {
			return true
		}
	}
	return false
}

func isLength(name []byte) bool {
	return bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Length"))
}
