package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// Body is where a request's body ends, and how far it was read.
type Body struct {
	length int  // in bytes
	expect bool // the client waits for 100 Continue before it sends the body
	chunks chunks
}

const chunked = -1 // as a length

// Length is the announced length in bytes; known is false for a chunked body.
func (b *Body) Length() (n int, known bool) { return b.length, b.length != chunked }

// Awaited reports, once, whether the client waits for 100 Continue before it sends the body.
func (b *Body) Awaited() bool {
	awaited := b.expect
	b.expect = false
	return awaited
}

// Read looks for the whole body in bytes that begin with it. A chunked body is decoded in place,
// which removes bytes: the caller continues with rest. If the body is whole, it is the first n
// bytes of rest.
func (b *Body) Read(raw []byte, most int) (n int, rest []byte, whole bool, err *Refusal) {
	if b.length != chunked {
		return b.length, raw, len(raw) >= b.length, nil
	}
	from := b.chunks.body
	used, err := b.chunks.read(raw, raw[from:], most)
	n = b.chunks.body
	rest = raw[:n+copy(raw[n:], raw[from+used:])]
	return n, rest, b.chunks.state == done, err
}

// Unread returns the bytes of a request whose chunked body was found to be too large by Read, as a
// server that has read nothing would receive them: the head, the body so far as one chunk, and what
// follows it in rest. It leaves the field Expect out if 100 Continue was sent, since the client may
// not expect it twice.
func (b *Body) Unread(head, rest []byte) []byte {
	n := b.chunks.body
	out := make([]byte, 0, len(head)+len(rest)+maxChunkHead)
	for line := range bytes.Lines(head) {
		if b.expect || !isField(line, "Expect") {
			out = append(out, line...)
		}
	}
	if n > 0 { // an empty chunk would end the body
		out = strconv.AppendInt(out, int64(n), 16)
		out = append(out, "\r\n"...)
		out = append(append(out, rest[:n]...), "\r\n"...)
	}
	return append(out, rest[n:]...)
}

// maxChunkHead is the size of a chunk's framing in bytes: 16 digits and two line ends.
const maxChunkHead = 20

func isField(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && strings.EqualFold(text(line[:len(name)]), name)
}

// Limits of everything but the body, in bytes.
const (
	maxChunkLine = 256     // a chunk-size line with its extensions, or a trailer line
	perChunk     = 16      // not counted: small chunks are no attack, and the body's limit bounds them
	maxOverhead  = 4 << 10 // limit of everything else, in total
)

// chunks decodes a chunked body in place: the decoded bytes replace the encoded ones.
type chunks struct {
	state    chunkState
	left     int // bytes of this chunk that have not arrived
	body     int // bytes of the body so far
	overhead int // bytes of neither the body nor its chunks' usual framing
}

type chunkState uint8

const (
	inSize    chunkState = iota // before a chunk-size line
	inData                      // inside a chunk
	afterData                   // before the \r\n that ends a chunk
	inTrailer                   // before a trailer line
	done
)

// read decodes raw, which follows b[:c.body] in the same memory. It moves the body's bytes to
// b[c.body:] and returns how many bytes of raw it has used. Unless the body is complete, the caller
// must pass the unused bytes again, followed by new ones.
func (c *chunks) read(b []byte, raw []byte, maxBody int) (used int, err *Refusal) {
	for used < len(raw) && c.state != done {
		if c.state == inData {
			n := min(c.left, len(raw)-used)
			c.body += copy(b[c.body:], raw[used:used+n])
			used += n
			if c.left -= n; c.left == 0 {
				c.state = afterData
			}
			continue
		}
		i := bytes.IndexByte(raw[used:], '\n')
		if i < 0 {
			if len(raw)-used > maxChunkLine {
				return used, errChunk
			}
			return used, nil
		}
		if i == 0 || i > maxChunkLine || raw[used+i-1] != '\r' {
			return used, errChunk
		}
		line := raw[used : used+i-1]
		if c.overhead += i + 1; c.overhead > maxOverhead {
			return used, errChunk
		}
		if err := c.line(line, maxBody); err != nil {
			c.overhead -= i + 1
			return used, err // the line stays, for Unread
		}
		used += i + 1
	}
	return used, nil
}

func (c *chunks) line(line []byte, maxBody int) *Refusal {
	switch c.state {
	case afterData:
		if len(line) > 0 {
			return errChunk
		}
		c.state = inSize
	case inTrailer:
		if len(line) == 0 {
			c.state = done
		} else if name, _, ok := field(text(line)); !ok || forbidden(name) {
			return errChunk
		}
	case inSize:
		size, err := chunkSize(line, maxBody)
		switch {
		case err != nil:
			return err
		case size > maxBody-c.body:
			return errLongBody
		}
		if c.state, c.left = inData, size; size == 0 {
			c.state = inTrailer
			return nil
		}
		c.overhead = max(0, c.overhead-perChunk)
	}
	return nil
}

// chunkSize reads a hexadecimal number. It skips extensions that follow.
func chunkSize(line []byte, most int) (n int, err *Refusal) {
	digits, extension, _ := bytes.Cut(line, []byte{';'})
	if !plain(text(extension), true) {
		return 0, errChunk
	}
	if len(extension) > 0 { // white space is allowed only before the semicolon
		digits = bytes.TrimRight(digits, " \t")
	}
	if len(digits) == 0 || len(digits) > 16 {
		return 0, errChunk
	}
	for _, c := range digits {
		switch {
		case digit(c):
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, errChunk
		}
		if n = n<<4 | int(c); n > most {
			n = most + 1
		}
	}
	return n, nil
}
