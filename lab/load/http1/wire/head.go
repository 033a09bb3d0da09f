package wire

import (
	"bytes"
	"math"
)

// noLength marks an answer that has no Content-Length.
const noLength = -1

// head holds what the status line and the header say about the answer's framing.
type head struct {
	status    int
	length    int64 // Content-Length, bytes
	http10    bool
	chunked   bool
	close     bool   // Connection: close
	keepAlive bool   // Connection: keep-alive
	location  string // of a redirect
}

// prefix is the beginning of every status line.
const prefix = "HTTP/1."

// mayBeStatusLine reports whether the bytes can be the beginning of a status line.
func mayBeStatusLine(begun []byte) bool {
	n := min(len(begun), len(prefix))
	return string(begun[:n]) == prefix[:n]
}

// parseStatusLine parses "HTTP/1.1 200 OK".
func (h *head) parseStatusLine(line []byte) bool {
	if len(line) < len("HTTP/1.1 200 ") || !mayBeStatusLine(line) {
		return false
	}
	minor, code, reason := line[len(prefix)], line[len(prefix)+2:len(prefix)+5], line[len(prefix)+6:]
	if minor < '0' || minor > '9' || line[len(prefix)+1] != ' ' || line[len(prefix)+5] != ' ' || !isText(reason) {
		return false
	}
	h.http10 = minor == '0'
	for _, c := range code {
		if c < '0' || c > '9' {
			return false
		}
		h.status = h.status*10 + int(c-'0')
	}
	return h.status >= 100
}

// splitField parses the field line "Name: value".
func splitField(line []byte) (name, value []byte, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i < 1 || !isToken(line[:i]) {
		return nil, nil, false
	}
	value = bytes.Trim(line[i+1:], " \t")
	return line[:i], value, isText(value)
}

// field stores a field if it says where the answer ends, whether the connection stays open, or
// where a redirect leads. It returns false if the field is malformed.
func (h *head) field(name, value []byte) bool {
	switch {
	case is(name, "content-length"):
		return h.contentLength(value)
	case is(name, "transfer-encoding"):
		// The requests accept no other transfer coding, so a target must not use one; and chunked
		// must not be applied twice (RFC 9112, section 7).
		if h.chunked || !is(value, "chunked") {
			return false
		}
		h.chunked = true
	case h.status >= 300 && h.status < 400 && is(name, "location"):
		h.location = string(value)
	case is(name, "connection"):
		for option := range bytes.SplitSeq(value, []byte{','}) {
			option = bytes.Trim(option, " \t")
			h.close = h.close || is(option, "close")
			h.keepAlive = h.keepAlive || is(option, "keep-alive")
		}
	}
	return true
}

// contentLength parses a Content-Length, which may occur again with the same value only.
func (h *head) contentLength(value []byte) bool {
	n, ok := parseLength(value)
	if !ok || h.length != noLength && h.length != n {
		return false
	}
	h.length = n
	return true
}

func parseLength(digits []byte) (n int64, ok bool) {
	for _, c := range digits {
		if c < '0' || c > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, len(digits) > 0
}

// consistent reports whether the fields may occur together.
func (h *head) consistent() bool {
	if h.status == 101 {
		return false // no request asks for an upgrade
	}
	return !h.chunked || h.length == noLength && !h.http10
}

// persists reports whether the connection stays open after an answer whose length is known.
func (h *head) persists() bool {
	if h.http10 {
		return h.keepAlive && !h.close
	}
	return !h.close
}

// is compares b, ignoring ASCII case, with a text in lower case.
func is(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		c := b[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// isText reports whether b holds no control characters but tabs (RFC 9110's field-vchar, SP and
// HTAB).
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// isToken reports whether b consists of RFC 9110's tchar.
func isToken(b []byte) bool {
	for _, c := range b {
		if !tchar[c] {
			return false
		}
	}
	return len(b) > 0
}

var tchar = func() (t [256]bool) {
	for _, c := range []byte("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		t[c] = true
	}
	return t
}()
