// Package scripted drives WebSockets and streams of server-sent events as a script describes them,
// without a program: what to open, what to send for each offer, which messages count as frames, and
// how a message acknowledges an offer.
//
// It is not for protocols with a state of their own (sessions.Driver is), nor for JSON-RPC calls at
// a rate (jsonrpc). Each request beside a stream has a goroutine of its own, which ends with its
// session.
package scripted

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"dyno/lab/load/request/jsontest"
	"dyno/lab/load/sessions"
)

// Script describes the sessions of a load.
type Script struct {
	URL          Template // ws and wss: WebSockets; http and https: server-sent events
	Header       map[string]Template
	Subprotocols []string
	Messages     []Template // sent once, after a WebSocket has opened
	Send         *Send      // nil: sessions only receive
	Frames       Match      // messages that count as frames; those of neither count as bytes alone
	Ack          Ack
	TLS          func(host string) (*tls.Config, error)
	Run          string // ${run}
	// Row returns the value of ${row.NAME} in a row; nil: there are no rows. The row of a session has
	// its index or, in Send with Once, each offer has the next of Rows rows, which is sent once.
	Row  func(row int, name string) (value string, ok bool)
	Rows int
	Once bool
}

// Send is what a session sends for each offer.
type Send struct {
	Body   Template
	Binary bool // a binary WebSocket message
	// Beside a stream of events the offer is an HTTP request.
	URL    Template
	Method string
	Header map[string]Template
}

// Match is a condition on a message; the zero Match holds for all.
type Match struct {
	Contains string
	Matches  *regexp.Regexp
}

func (m *Match) holds(message []byte) bool {
	return (m.Contains == "" || bytes.Contains(message, []byte(m.Contains))) && (m.Matches == nil || m.Matches.Match(message))
}

// Ack is how a message acknowledges the offers up to a number: at a JSON path, as the first group
// of a regular expression, or each message that counts as a frame acknowledges the next offer. The
// zero Ack acknowledges nothing.
type Ack struct {
	JSON    []string
	Matches *regexp.Regexp
	Any     bool
}

// of returns the number in a message; 0: none.
func (a *Ack) of(message []byte) (number uint64) {
	switch {
	case a.JSON != nil:
		if value, err := jsontest.Field(message, a.JSON...); err == nil {
			return parseNumber(bytes.Trim(value, `"`))
		}
	case a.Matches != nil:
		if found := a.Matches.FindSubmatch(message); len(found) > 1 {
			return parseNumber(found[1])
		}
	}
	return 0
}

// parseNumber returns 0 for what is no number.
func parseNumber(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// New returns the driver of a script.
func New(s Script) (sessions.Driver, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	address, err := url.Parse(s.url(s.URL, 0, 0))
	if err != nil || address.Hostname() == "" {
		return nil, fmt.Errorf("%q is not a URL with a host", s.URL)
	}
	switch address.Scheme {
	case "ws", "wss":
		return &sockets{script: s}, nil
	case "http", "https":
		return newEvents(s, address.Hostname())
	}
	return nil, fmt.Errorf("a session's URL begins with ws, wss, http or https, not %q", address.Scheme)
}

// check parses every template once, so that none fails later.
func (s *Script) check() error {
	all := append(slices.Clone(s.Messages), s.URL)
	for _, h := range s.Header {
		all = append(all, h)
	}
	if s.Send != nil {
		all = append(all, s.Send.Body, s.Send.URL)
		for _, h := range s.Send.Header {
			all = append(all, h)
		}
	}
	for _, t := range all {
		if _, err := s.fill(nil, t, 0, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// Template is a text with ${session} (the session's index, from 0), ${offer} (the number of the
// offer in its session, from 1), ${run} and ${row.NAME}; $$ is a plain $.
type Template string

// fill appends a filled template.
func (s *Script) fill(out []byte, t Template, i, row int, offer uint64) ([]byte, error) {
	rest := string(t)
	for {
		before, after, found := strings.Cut(rest, "$")
		out = append(out, before...)
		switch {
		case !found:
			return out, nil
		case strings.HasPrefix(after, "$"):
			out, rest = append(out, '$'), after[1:]
			continue
		case !strings.HasPrefix(after, "{"):
			out, rest = append(out, '$'), after
			continue
		}
		name, after, closed := strings.Cut(after[1:], "}")
		if !closed {
			return nil, fmt.Errorf("%.80q opens a placeholder without an end; write $$ for a plain $", t)
		}
		rest = after
		switch name {
		case "session":
			out = strconv.AppendInt(out, int64(i), 10)
		case "offer":
			out = strconv.AppendUint(out, offer, 10)
		case "run":
			out = append(out, s.Run...)
		default:
			column, isRow := strings.CutPrefix(name, "row.")
			value, known := "", false
			if isRow && s.Row != nil {
				value, known = s.Row(row, column)
			}
			if !known {
				return nil, fmt.Errorf("unknown placeholder ${%.60s}; known are ${session}, ${offer}, ${run} and ${row.NAME} of a feeder", name)
			}
			out = append(out, value...)
		}
	}
}

// url returns a filled URL that was checked. A row's value is a segment of its path, or a name or
// value after the question mark, and is escaped as such.
func (s *Script) url(t Template, i int, offer uint64) string {
	path, query, asked := strings.Cut(string(t), "?")
	out := s.escaped(Template(path), url.PathEscape, i, offer)
	if asked {
		out += "?" + s.escaped(Template(query), url.QueryEscape, i, offer)
	}
	return asciiPath(out)
}

// asciiPath escapes the bytes of a URL that are not ASCII, behind its host: with them in a path
// net/url would write all of it anew, and lose the escapes of a row's value.
func asciiPath(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	host, path, found := strings.Cut(rest, "/")
	if !found {
		return text
	}
	out := []byte(scheme + "://" + host + "/")
	for _, b := range []byte(path) {
		if b < utf8.RuneSelf {
			out = append(out, b)
			continue
		}
		out = fmt.Appendf(out, "%%%02X", b)
	}
	return string(out)
}

func (s *Script) escaped(t Template, escape func(string) string, i int, offer uint64) string {
	in := *s
	if s.Row != nil {
		in.Row = func(row int, name string) (string, bool) {
			value, known := s.Row(row, name)
			return escape(value), known
		}
	}
	return in.text(t, i, offer)
}

// text returns a filled template that was checked.
func (s *Script) text(t Template, i int, offer uint64) string {
	out, _ := s.fill(nil, t, i, i, offer)
	return string(out)
}

func (s *Script) header(of map[string]Template, i int, offer uint64) http.Header {
	h := http.Header{}
	for name, value := range of {
		h.Set(name, s.text(value, i, offer))
	}
	return h
}

// offering numbers the rows of offers.
type offering struct{ rows atomic.Int64 }

var errUsedUp = errors.New("every row of the feeder was sent; write more rows, or offer less")

// body appends the body of an offer.
func (o *offering) body(out []byte, s *Script, i int, offer uint64) ([]byte, error) {
	row := i
	if s.Once {
		if row = int(o.rows.Add(1)) - 1; row >= s.Rows {
			return out, errUsedUp
		}
	}
	return s.fill(out, s.Send.Body, i, row, offer)
}

// counter reads a session's messages.
type counter struct {
	script *Script
	frames uint64 // messages that acknowledged by being frames
}

// read returns what a message of a session means.
func (c *counter) read(message []byte) (r sessions.Received) {
	if c.script.Frames.holds(message) {
		r.Frames = 1
		if c.script.Ack.Any {
			c.frames++
			r.Acked = c.frames
		}
	}
	if !c.script.Ack.Any {
		r.Acked = c.script.Ack.of(message)
	}
	return r
}

// maxMessage bounds a message, in bytes.
const maxMessage = 16 << 20

// postTimeout bounds a request beside a stream.
const postTimeout = 10 * time.Second

// done reports an error that ctx explains better.
func done(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
