package raw

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
)

// verdict is the parser's state of knowledge after a piece of an answer.
type verdict uint8

const (
	incomplete verdict = iota
	complete
	malformed
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

// parser reads one answer after the other, from pieces cut anywhere. It is strict: whatever RFC
// 9112's grammar does not allow is malformed, also where other clients guess. It allocates only
// if the content is kept for a check, or if a line was cut in two.
type parser struct {
	state  state
	fresh  bool // no byte of the answer has arrived yet
	toHead bool // the request's method was HEAD: the answer has no body
	head   head
	left   int64    // bytes of body or chunk still to come
	room   int      // bytes that the remaining lines may take
	line   []byte   // the beginning of a line that was cut
	keep   *content // nil: no check needs the content
}

// content is the input of a check.
type content struct {
	header   http.Header
	body     []byte
	overflow bool // the body was longer than maxContent
}

// begin makes the parser ready for the answer to the next request.
func (p *parser) begin(toHead, keep bool) {
	p.state, p.fresh, p.toHead, p.room = statusLine, true, toHead, maxHead
	p.line = p.line[:0]
	if p.keep = nil; keep {
		p.keep = &content{header: http.Header{}}
	}
}

// feed continues an answer and returns the part of in after its end.
func (p *parser) feed(in []byte, known *knownHead) (rest []byte, v verdict) {
	if !p.fresh {
		return p.resume(in)
	}
	p.fresh = false
	if p.keep == nil && known.begins(in) {
		p.head = known.head
		p.expectBody()
		return p.resume(in[len(known.bytes):])
	}
	if rest, v = p.lines(in); v != incomplete {
		return rest, v
	}
	if p.state > fieldLine {
		known.learn(in[:len(in)-len(rest)], p.head)
	}
	return p.resume(rest)
}

// resume continues an answer from any state.
func (p *parser) resume(in []byte) (rest []byte, v verdict) {
	for {
		if p.inLines() {
			if len(in) == 0 {
				return nil, incomplete
			}
			if in, v = p.lines(in); v != incomplete {
				return in, v
			}
			continue
		}
		switch p.state {
		case untilEOF:
			p.store(in)
			return nil, incomplete
		default: // body, chunkData
			n := min(int64(len(in)), p.left)
			p.store(in[:n])
			p.left -= n
			in = in[n:]
			if p.left > 0 {
				return nil, incomplete
			}
			if p.state == body {
				return in, complete
			}
			p.state, p.room = chunkEnd, len("\r\n")
		}
	}
}

// lines reads whole lines to the end of the head, or as long as the parser expects lines.
func (p *parser) lines(in []byte) (rest []byte, v verdict) {
	inHead := p.state <= fieldLine
	for p.inLines() && inHead == (p.state <= fieldLine) {
		end := bytes.IndexByte(in, '\n') + 1
		if end == 0 {
			end = len(in)
		}
		if p.room -= end; p.room < 0 {
			return nil, malformed
		}
		line := in[:end]
		in = in[end:]
		if len(line) == 0 || line[len(line)-1] != '\n' {
			p.line = append(p.line, line...)
			if p.state == statusLine && !mayBeStatusLine(p.line) {
				return nil, malformed // malformed already, before its end
			}
			return nil, incomplete
		}
		if len(p.line) > 0 {
			p.line = append(p.line, line...)
			line = p.line
			p.line = p.line[:0]
		}
		if len(line) < 2 || line[len(line)-2] != '\r' {
			return nil, malformed
		}
		if v := p.take(line[:len(line)-2]); v != incomplete {
			return in, v
		}
	}
	return in, incomplete
}

func (p *parser) inLines() bool {
	return p.state != body && p.state != untilEOF && p.state != chunkData
}

// take parses one line without its line end.
func (p *parser) take(line []byte) verdict {
	switch p.state {
	case statusLine:
		p.head = head{length: noLength}
		if p.state = fieldLine; !p.head.parseStatusLine(line) {
			return malformed
		}
	case fieldLine:
		if len(line) == 0 {
			return p.endHead()
		}
		name, value, ok := splitField(line)
		if !ok || !p.head.field(name, value) {
			return malformed
		}
		if p.keep != nil {
			p.keep.header.Add(string(name), string(value))
		}
	case chunkSize:
		size, ok := parseChunkSize(line)
		switch {
		case !ok:
			return malformed
		case size == 0:
			p.state, p.room = trailer, maxHead
		default:
			p.state, p.left = chunkData, size
		}
	case chunkEnd:
		if len(line) != 0 {
			return malformed
		}
		p.state, p.room = chunkSize, maxChunkLine
	case trailer:
		if len(line) == 0 {
			return complete
		}
		if _, _, ok := splitField(line); !ok {
			return malformed
		}
	}
	return incomplete
}

// endHead decides what follows a head.
func (p *parser) endHead() verdict {
	if !p.head.consistent() {
		return malformed
	}
	if p.head.status < 200 { // an interim answer: the final one follows
		p.state = statusLine
		if p.keep != nil {
			clear(p.keep.header)
		}
		return incomplete
	}
	p.expectBody()
	return incomplete
}

// expectBody sets the state that follows the head of a final answer.
func (p *parser) expectBody() {
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

// eof handles an orderly end of the connection and reports whether the answer is complete.
func (p *parser) eof() bool { return p.state == untilEOF }

// persists reports whether the connection can carry another request after this answer.
func (p *parser) persists() bool { return p.state != untilEOF && p.head.persists() }

func (p *parser) store(b []byte) {
	if p.keep == nil || p.keep.overflow {
		return
	}
	if p.keep.overflow = len(p.keep.body)+len(b) > maxContent; !p.keep.overflow {
		p.keep.body = append(p.keep.body, b...)
	}
}

// knownHead is the head that was parsed last. A target's answers mostly begin with the same bytes
// (the Date changes once a second), and equal bytes have equal meaning: comparing is a tenth of
// the work of parsing.
type knownHead struct {
	bytes []byte // including the empty line that ends it; empty: none is known
	head  head
}

func (k *knownHead) begins(in []byte) bool {
	return len(k.bytes) > 0 && len(in) >= len(k.bytes) && string(in[:len(k.bytes)]) == string(k.bytes)
}

// learn keeps a head that arrived in one piece.
func (k *knownHead) learn(raw []byte, h head) { k.bytes, k.head = append(k.bytes[:0], raw...), h }

// parseChunkSize parses a chunk's size in bytes; it skips extensions, which must be text.
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
