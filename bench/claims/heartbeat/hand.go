package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"

	"dyno/services/arena/heartbeat"
)

const (
	maxBody = 4 << 10 // bytes of a request
	maxID   = 64      // bytes of a player's id
)

// hand answers heartbeats by hand, in memory that is used again. What it does not know it leaves to
// arenad's own handler.
type hand struct{ beats *heartbeat.Heartbeat }

// memory is for the body of a request and its answer.
type memory struct {
	in  [maxBody]byte
	out []byte
}

var memories = sync.Pool{New: func() any { return new(memory) }}

var jsonType = []string{"application/json"} // shared by all answers

func (h hand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := memories.Get().(*memory)
	defer memories.Put(m)
	n, err := io.ReadFull(r.Body, m.in[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the body is whole
		if id, ok := scan(m.in[:n]); ok {
			m.out = h.answer(m.out[:0], id)
			w.Header()["Content-Type"] = jsonType
			_, _ = w.Write(m.out) // an error means that the client has gone
			return
		}
	}
	r.Body = reread{io.MultiReader(bytes.NewReader(m.in[:n]), r.Body), r.Body}
	h.beats.ServeHTTP(w, r)
}

// reread is a body whose beginning is read again.
type reread struct {
	io.Reader
	io.Closer
}

func (h hand) answer(to, id []byte) []byte {
	to = strconv.AppendInt(append(to, `{"server_ms":`...), h.beats.Heard(id), 10)
	return append(to, '}', '\n')
}

// scan finds the id in a body such as {"player_id":"ada"} or {"player_id":7}: printable ASCII
// without a backslash, or digits. False: the body has another form, and is perhaps no request.
func scan(body []byte) ([]byte, bool) {
	rest, ok := after(body, "{")
	if ok {
		rest, ok = after(rest, `"player_id"`)
	}
	if ok {
		rest, ok = after(rest, ":")
	}
	if rest = trim(rest); !ok || len(rest) == 0 {
		return nil, false
	}
	var id []byte
	if rest[0] == '"' {
		n := run(rest[1:], func(c byte) bool { return c >= ' ' && c <= '~' && c != '"' && c != '\\' })
		id, rest = rest[1:1+n], rest[1+n:]
		if ok = len(rest) > 0 && rest[0] == '"'; ok {
			rest = rest[1:]
		}
	} else {
		n := run(rest, func(c byte) bool { return c >= '0' && c <= '9' })
		id, rest = rest[:n], rest[n:]
		ok = n == 1 || n > 1 && id[0] != '0'
	}
	if ok {
		rest, ok = after(rest, "}")
	}
	return id, ok && len(trim(rest)) == 0 && len(id) > 0 && len(id) <= maxID
}

// after passes white space and a token.
func after(b []byte, token string) ([]byte, bool) {
	b = trim(b)
	if len(b) < len(token) || string(b[:len(token)]) != token {
		return nil, false
	}
	return b[len(token):], true
}

func trim(b []byte) []byte {
	return b[run(b, func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }):]
}

// run is the length of the bytes at the beginning that are of a kind.
func run(b []byte, is func(byte) bool) (n int) {
	for n < len(b) && is(b[n]) {
		n++
	}
	return n
}
