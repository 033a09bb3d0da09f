// Package wire encodes and parses HTTP/1.1 for the raw engine. Requests are encoded before the
// load. Answers are parsed during the load, from pieces cut anywhere, and as a rule without an
// allocation.
//
// It does not move the bytes (http1 does) and knows neither TLS nor HTTP/2. It starts no
// goroutines.
package wire

import (
	"bytes"
	"net/http"
	"strings"
)

// Bounds on the memory that one answer may take.
const (
	maxHead      = 64 << 10 // bytes of status line and header, interim answers included; trailers likewise
	maxChunkLine = 4 << 10  // bytes of a chunk's size with its extensions
	maxContent   = 4 << 20  // bytes of body that are kept for a check; a longer body fails the check
	maxExcerpt   = 128      // bytes of the body of a failure that are kept for a message
)

// Verdict says what the bytes received so far mean for an answer.
type Verdict uint8

// Verdicts on an answer.
const (
	Incomplete Verdict = iota // more bytes are needed
	Complete
	Malformed // the bytes break the protocol
)

// state is the element that the parser expects next.
type state uint8

const (
	statusLine state = iota
	fieldLine
	body      // the next left bytes
	untilEOF  // a body that ends with the connection
	chunkSize // the line with a chunk's size
	chunkData // the next left bytes
	chunkEnd  // the line end after a chunk's data
	trailer
)

// Parser reads one answer after the other, from pieces cut anywhere. It is strict: it rejects
// whatever the grammar of RFC 9112 does not allow, also where other clients guess. It allocates
// only to keep content for a check, the Location of a redirect, the beginning of a failed
// answer's body, or a line that was cut.
type Parser struct {
	state  state
	fresh  bool // no byte of the answer has arrived yet
	toHead bool // the request's method was HEAD: the answer has no body
	head   head
	left   int64    // bytes of body or chunk still to come
	room   int      // bytes that the remaining lines may take
	line   []byte   // the beginning of a line whose rest has not arrived
	keep   *content // nil: no check needs the content
	failed []byte   // the beginning of the body, if the status is that of a failure
}

// content is the input of a check.
type content struct {
	header   http.Header
	body     []byte
	overflow bool // the body was longer than maxContent
}

// Begin makes the parser ready for the answer to the next request. toHead says that the request's
// method was HEAD; keep says that the answer's content must be kept.
func (p *Parser) Begin(toHead, keep bool) {
	p.state, p.fresh, p.toHead, p.room = statusLine, true, toHead, maxHead
	p.line, p.failed = p.line[:0], p.failed[:0]
	if p.keep = nil; keep {
		p.keep = &content{header: http.Header{}}
	}
}

// Feed parses the next bytes of an answer and returns those that follow the answer.
func (p *Parser) Feed(in []byte, known *KnownHead) (rest []byte, v Verdict) {
	if !p.fresh {
		return p.resume(in)
	}
	p.fresh = false
	if p.keep == nil && known.begins(in) {
		p.head = known.head
		p.expectBody()
		return p.resume(in[len(known.bytes):])
	}
	if rest, v = p.lines(in); v != Incomplete {
		return rest, v
	}
	if p.state > fieldLine {
		known.learn(in[:len(in)-len(rest)], p.head)
	}
	return p.resume(rest)
}

func (p *Parser) resume(in []byte) (rest []byte, v Verdict) {
	for {
		if p.inLines() {
			if len(in) == 0 {
				return nil, Incomplete
			}
			if in, v = p.lines(in); v != Incomplete {
				return in, v
			}
			continue
		}
		switch p.state {
		case untilEOF:
			p.store(in)
			return nil, Incomplete
		default: // body, chunkData
			n := min(int64(len(in)), p.left)
			p.store(in[:n])
			p.left -= n
			in = in[n:]
			if p.left > 0 {
				return nil, Incomplete
			}
			if p.state == body {
				return in, Complete
			}
			p.state, p.room = chunkEnd, len("\r\n")
		}
	}
}

// lines parses whole lines: in a head until its end, elsewhere as long as the parser expects
// lines.
func (p *Parser) lines(in []byte) (rest []byte, v Verdict) {
	inHead := p.state <= fieldLine
	for p.inLines() && inHead == (p.state <= fieldLine) {
		end := bytes.IndexByte(in, '\n') + 1
		if end == 0 {
			end = len(in)
		}
		if p.room -= end; p.room < 0 {
			return nil, Malformed
		}
		line := in[:end]
		in = in[end:]
		if len(line) == 0 || line[len(line)-1] != '\n' {
			p.line = append(p.line, line...)
			if p.state == statusLine && !mayBeStatusLine(p.line) {
				return nil, Malformed // no more bytes could make it valid
			}
			return nil, Incomplete
		}
		if len(p.line) > 0 {
			p.line = append(p.line, line...)
			line = p.line
			p.line = p.line[:0]
		}
		if len(line) < 2 || line[len(line)-2] != '\r' {
			return nil, Malformed
		}
		if v := p.take(line[:len(line)-2]); v != Incomplete {
			return in, v
		}
	}
	return in, Incomplete
}

func (p *Parser) inLines() bool {
	return p.state != body && p.state != untilEOF && p.state != chunkData
}

// take parses one line, given without its line end.
func (p *Parser) take(line []byte) Verdict {
	switch p.state {
	case statusLine:
		p.head = head{length: noLength}
		if p.state = fieldLine; !p.head.parseStatusLine(line) {
			return Malformed
		}
	case fieldLine:
		if len(line) == 0 {
			return p.endHead()
		}
		name, value, ok := splitField(line)
		if !ok || !p.head.field(name, value) {
			return Malformed
		}
		if p.keep != nil {
			p.keep.header.Add(string(name), string(value))
		}
	case chunkSize:
		size, ok := parseChunkSize(line)
		switch {
		case !ok:
			return Malformed
		case size == 0:
			p.state, p.room = trailer, maxHead
		default:
			p.state, p.left = chunkData, size
		}
	case chunkEnd:
		if len(line) != 0 {
			return Malformed
		}
		p.state, p.room = chunkSize, maxChunkLine
	case trailer:
		if len(line) == 0 {
			return Complete
		}
		if _, _, ok := splitField(line); !ok {
			return Malformed
		}
	}
	return Incomplete
}

// endHead checks a head and sets the state that follows it.
func (p *Parser) endHead() Verdict {
	if !p.head.consistent() {
		return Malformed
	}
	if p.head.status < 200 { // an interim answer: the final one follows
		p.state = statusLine
		if p.keep != nil {
			clear(p.keep.header)
		}
		return Incomplete
	}
	p.expectBody()
	return Incomplete
}

// expectBody sets the state that follows the head of a final answer.
func (p *Parser) expectBody() {
	switch h := &p.head; {
	case p.toHead || h.status == http.StatusNoContent || h.status == http.StatusNotModified:
		p.state, p.left = body, 0
	case h.chunked:
		p.state, p.room = chunkSize, maxChunkLine
	case h.length != noLength:
		p.state, p.left = body, h.length
	default:
		p.state = untilEOF
	}
}

// EOF handles an orderly end of the connection; it reports whether that completes the answer.
func (p *Parser) EOF() bool { return p.state == untilEOF }

// Persists reports whether the connection can carry another request after this answer.
func (p *Parser) Persists() bool { return p.state != untilEOF && p.head.persists() }

// Status returns the answer's status, once its head has been read.
func (p *Parser) Status() int { return p.head.status }

// Location returns where a redirect leads, once its head has been read. It is empty if the head
// has no Location.
func (p *Parser) Location() string { return p.head.location }

// Content returns the header and body of a complete answer whose content was kept. ok is false if
// the body was too long to keep.
func (p *Parser) Content() (header http.Header, body []byte, ok bool) {
	return p.keep.header, p.keep.body, !p.keep.overflow
}

// Excerpt returns the beginning of the body of an answer whose status is 400 or higher. It is valid
// until the next Begin.
func (p *Parser) Excerpt() []byte { return p.failed }

func (p *Parser) store(b []byte) {
	if room := maxExcerpt - len(p.failed); room > 0 && p.head.status >= http.StatusBadRequest {
		p.failed = append(p.failed, b[:min(len(b), room)]...)
	}
	if p.keep == nil || p.keep.overflow {
		return
	}
	if p.keep.overflow = len(p.keep.body)+len(b) > maxContent; !p.keep.overflow {
		p.keep.body = append(p.keep.body, b...)
	}
}

// KnownHead is the last head that was parsed. Most answers of a target begin with the same bytes
// (the Date changes once a second), and equal bytes have equal meaning: comparing them takes a
// tenth of the time of parsing.
type KnownHead struct {
	bytes []byte // the head with the empty line that ends it; empty: none is known yet
	head  head
}

func (k *KnownHead) begins(in []byte) bool {
	return len(k.bytes) > 0 && len(in) >= len(k.bytes) && string(in[:len(k.bytes)]) == string(k.bytes)
}

// learn stores a head that arrived in one piece.
func (k *KnownHead) learn(raw []byte, h head) { k.bytes, k.head = append(k.bytes[:0], raw...), h }

// parseChunkSize parses a chunk's size; it skips extensions, which must not hold control
// characters.
func parseChunkSize(line []byte) (int64, bool) {
	digits := line
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		if !isText(line[i:]) {
			return 0, false
		}
		digits = bytes.TrimRight(line[:i], " \t")
	}
	if len(digits) == 0 || len(digits) > 16 {
		return 0, false
	}
	var size uint64
	for _, c := range digits {
		d := strings.IndexByte("0123456789abcdef", c|0x20)
		if d < 0 || c < '0' {
			return 0, false
		}
		size = size<<4 | uint64(d)
	}
	return int64(size), int64(size) >= 0
}
