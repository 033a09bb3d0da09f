// Package script drives WebSockets and streams of server-sent events as a load describes them,
// without a program: what to open, what to send at each time, which received messages count as
// frames, and how one of them acknowledges what was sent.
//
// It is not for protocols with a state of their own (sessions.Driver is), nor for JSON-RPC calls at
// a rate (jsonrpc). Each request that sends a message of a stream's session has a goroutine of its
// own, which ends with the session.
package script

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"dyno/lab/load/corpus"
	"dyno/lab/load/sessions"
	"dyno/lab/workload"
)

// script is what the sessions of a load do.
type script struct {
	corpus.Spec
	*workload.Session
	tls    func(host string) (*tls.Config, error)
	body   string // template of what is sent
	frames match  // messages that count as frames; those of neither count as bytes alone
	ack    ack
}

// match is a workload.Match, compiled.
type match struct {
	contains string
	matches  *regexp.Regexp
}

func (m *match) holds(message []byte) bool {
	return (m.contains == "" || bytes.Contains(message, []byte(m.contains))) && (m.matches == nil || m.matches.Match(message))
}

// ack is a workload.Ack, compiled. The zero ack acknowledges nothing.
type ack struct {
	json    []string
	matches *regexp.Regexp
	any     bool
}

// of returns the number in a message; 0: none.
func (a *ack) of(message []byte) (number uint64) {
	switch {
	case a.json != nil:
		if value, err := corpus.JSONField(message, a.json...); err == nil {
			return parseNumber(bytes.Trim(value, `"`))
		}
	case a.matches != nil:
		if found := a.matches.FindSubmatch(message); len(found) > 1 {
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

// New returns the driver of a load's sessions. A session fills in the feeder's row with its own
// index; with Once, each message that is sent takes the next row instead, which no other takes.
// Without secure, certificates are judged as by the system.
func New(of corpus.Spec, secure func(host string) (*tls.Config, error)) (sessions.Driver, error) {
	s, err := compile(of)
	if err != nil {
		return nil, err
	}
	s.tls = secure
	if err := s.check(); err != nil {
		return nil, err
	}
	address, err := url.Parse(s.url(s.Load.URL, 0, 0))
	if err != nil || address.Hostname() == "" {
		return nil, fmt.Errorf("%q is not a URL with a host", s.Load.URL)
	}
	switch address.Scheme {
	case "ws", "wss":
		return &sockets{script: *s}, nil
	case "http", "https":
		return newEvents(*s, address.Hostname())
	}
	return nil, fmt.Errorf("a session's URL begins with ws, wss, http or https, not %q", address.Scheme)
}

// compile prepares what sessions send and receive.
func compile(of corpus.Spec) (*script, error) {
	s := &script{Spec: of, Session: of.Load.Sessions}
	if s.Session == nil {
		s.Session = &workload.Session{}
	}
	var err error
	if s.Send != nil {
		s.body = s.Send.Text
		if s.Send.Base64 != "" {
			message, err := base64.StdEncoding.DecodeString(s.Send.Base64)
			if err != nil {
				return nil, fmt.Errorf("send.base64: %w", err)
			}
			s.body = strings.ReplaceAll(string(message), "$", "$$")
		}
	}
	s.frames.contains = s.Expect.Frames.Contains
	if s.frames.matches, err = pattern(s.Expect.Frames.Matches); err != nil {
		return nil, err
	}
	if a := s.Expect.Ack; a != nil {
		s.ack.any = a.Any
		if a.JSON != "" {
			s.ack.json = strings.Split(a.JSON, ".")
		}
		s.ack.matches, err = pattern(a.Matches)
	}
	return s, err
}

// pattern compiles a regular expression; nil: there is none.
func pattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	return regexp.Compile(text)
}

// check fills in every template once, so that none fails later.
func (s *script) check() error {
	all := append(slices.Clone(s.Open.Messages), s.Load.URL, s.body)
	all = slices.AppendSeq(all, maps.Values(s.Load.Headers))
	if s.Send != nil {
		all = slices.AppendSeq(append(all, s.Send.URL), maps.Values(s.Send.Headers))
	}
	for _, t := range all {
		if _, err := s.fill(nil, t, 0, 0, 0, nil); err != nil {
			return err
		}
	}
	return nil
}

// fill appends a template with ${session} (the session's index, from 0), ${offer} (the number of
// the message in its session, from 1), ${run} and ${row.NAME} filled in; $$ is a plain $. A row's
// value is escaped unless escape is nil.
func (s *script) fill(out []byte, t string, i, row int, number uint64, escape func(string) string) ([]byte, error) {
	rest := t
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
			out = strconv.AppendUint(out, number, 10)
		case "run":
			out = append(out, s.Run...)
		default:
			column, isRow := strings.CutPrefix(name, "row.")
			value, known := "", false
			if isRow && s.Rows != nil {
				value, known = s.Rows.Value(row, column)
			}
			if !known {
				return nil, fmt.Errorf("unknown placeholder ${%.60s}; known are ${session}, ${offer}, ${run} and ${row.NAME} of a feeder", name)
			}
			if escape != nil {
				value = escape(value)
			}
			out = append(out, value...)
		}
	}
}

// url returns a filled URL that was checked. A row's value is a segment of its path, or a name or
// value after the question mark, and is escaped as such.
func (s *script) url(t string, i int, number uint64) string {
	path, query, asked := strings.Cut(t, "?")
	out := s.text(path, i, number, url.PathEscape)
	if asked {
		out += "?" + s.text(query, i, number, url.QueryEscape)
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

// text returns a filled template that was checked.
func (s *script) text(t string, i int, number uint64, escape func(string) string) string {
	out, _ := s.fill(nil, t, i, i, number, escape)
	return string(out)
}

func (s *script) header(of map[string]string, i int, number uint64) http.Header {
	h := http.Header{}
	for name, value := range of {
		h.Set(name, s.text(value, i, number, nil))
	}
	return h
}

// rowCounter numbers the rows of messages.
type rowCounter struct{ rows atomic.Int64 }

var errUsedUp = errors.New("every row of the feeder was sent; write more rows, or send less")

// body appends the body of a message.
func (o *rowCounter) body(out []byte, s *script, i int, number uint64) ([]byte, error) {
	row := i
	if s.Load.Once && s.Rows != nil {
		if row = int(o.rows.Add(1)) - 1; row >= s.Rows.Len() {
			return out, errUsedUp
		}
	}
	return s.fill(out, s.body, i, row, number, nil)
}

// counter reads a session's messages.
type counter struct {
	script *script
	frames uint64 // messages that acknowledged by being frames
}

// read returns what a message of a session means.
func (c *counter) read(message []byte) (r sessions.Received) {
	if c.script.frames.holds(message) {
		r.Frames = 1
		if c.script.ack.any {
			c.frames++
			r.Acked = c.frames
		}
	}
	if !c.script.ack.any {
		r.Acked = c.script.ack.of(message)
	}
	return r
}

// maxMessage bounds a message, in bytes.
const maxMessage = 16 << 20

// postTimeout bounds a request that sends a message of a stream's session.
const postTimeout = 10 * time.Second

// done reports an error that ctx explains better.
func done(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
