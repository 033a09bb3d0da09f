package lameduck

import (
	"bytes"
	"io"
	"net"
	"net/http"
)

// maxHead limits how much of a request's head is kept, about ten times what clients send.
const maxHead = 8 << 10

// heads keeps the head of the request that a connection is reading, as received.
type heads struct {
	turn  uint32 // turn of the connection when the request's first bytes were read
	text  []byte
	whole bool // text ends with the empty line
	ahead bool // more bytes followed it: of its body, or of the next head

	missed bool // text may be incomplete, since bytes arrived ahead of a response
}

// add records what was read in a turn while no request was in progress. The caller passes neither
// bytes of a body nor those of a request that arrives ahead of a response.
func (h *heads) add(turn uint32, read []byte) {
	if turn != h.turn {
		*h = heads{turn: turn, text: h.text[:0], missed: h.ahead}
	}
	if h.whole || len(h.text) >= maxHead {
		h.ahead = true
		return
	}
	from, before := max(0, len(h.text)-len(emptyLine)), len(h.text)
	h.text = append(h.text, read[:min(len(read), maxHead-len(h.text))]...)
	if end := bytes.Index(h.text[from:], emptyLine); end >= 0 {
		h.text, h.whole = h.text[:from+end+len(emptyLine)], true
	}
	h.ahead = before+len(read) > len(h.text)
}

var emptyLine = []byte("\r\n\r\n")

type connKey struct{}

// ambiguous answers a request that has both Transfer-Encoding and Content-Length with 400. Servers
// and proxies that rely on different ones of the two see different ends of the request, and one of
// them reads the rest as the next request, possibly another client's. net/http drops the
// Content-Length. Where the head cannot be known (over TLS, or when part of it may have arrived
// with the body before it), the request is served and the connection ends, so that nothing can
// follow.
func ambiguous(w http.ResponseWriter, r *http.Request) bool {
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	known, _ := c.(*Conn)
	if known == nil || !known.head.whole || known.head.missed || known.head.turn+1 != known.turns.Load() {
		w.Header()["Connection"] = []string{"close"}
		return false
	}
	if !HasLength(known.head.text) {
		return false
	}
	h := w.Header()
	h["Connection"], h["Content-Type"] = []string{"close"}, []string{"application/json"}
	w.WriteHeader(http.StatusBadRequest)
	io.WriteString(w, `{"error":"the request has both a Transfer-Encoding and a Content-Length; send one of them"}`+"\n")
	return true
}

// HasLength reports whether a request's head contains a Content-Length.
func HasLength(head []byte) bool {
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		if name, _, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(bytes.TrimSpace(name), []byte("Content-Length")) {
			return true
		}
	}
	return false
}
