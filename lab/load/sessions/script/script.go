// Package script drives WebSockets and streams of server-sent events by a description in the
// load, without a program. The description says what to open, what to send at each intended time,
// which received messages count as frames, and which acknowledge what was sent.
//
// It is not for protocols with a state of their own (those need a sessions.Driver), nor for
// JSON-RPC calls at a rate (jsonrpc). Each request that sends a message of a stream's session has
// a goroutine of its own, which has ended when the session is closed.
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

// script describes what the sessions of a load do.
type script struct {
	corpus.Spec
	*workload.Session
	tls    func(host string) (*tls.Config, error)
	body   string // template of the message that is sent
	frames match  // says which messages count as frames; others count by their bytes only, unless they acknowledge
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

// of returns the number that a message acknowledges; 0: it acknowledges nothing.
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

// parseNumber parses a decimal number; it returns 0 if b is none.
func parseNumber(b []byte) uint64 {
	n, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// New returns the driver of a load's sessions. Templates use the feeder's row with the session's
// own index; with Once, each message takes the next row instead, which no other message gets.
// secure returns the TLS settings for a host; it may be nil unless the URL's scheme is wss.
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

// compile decodes and compiles what the description says about sending and receiving.
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

// pattern compiles a regular expression; for an empty text it returns nil.
func pattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	return regexp.Compile(text)
}

// check fills in every template once, so that none can fail later.
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

// fill appends a template with its placeholders filled in: ${session} (the session's index, from
// 0), ${offer} (the message's number in its session, from 1), ${run} and ${row.NAME}; $$ is a
// plain $. It applies escape, unless that is nil, to a row's values.
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

// url fills in a URL that check has accepted. A row's value is escaped as a segment of the path
// or, after the question mark, as a name or value of the query.
func (s *script) url(t string, i int, number uint64) string {
	path, query, asked := strings.Cut(t, "?")
	out := s.text(path, i, number, url.PathEscape)
	if asked {
		out += "?" + s.text(query, i, number, url.QueryEscape)
	}
	return asciiPath(out)
}

// asciiPath escapes the non-ASCII bytes of a URL after its host. If they stayed in the path,
// net/url would encode the whole path anew, and lose the escapes in a row's value.
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

// text fills in a template that check has accepted.
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

// rowCounter hands out rows to messages, each once.
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

// counter interprets the messages that one session receives.
type counter struct {
	script *script
	frames uint64 // frames so far, if every frame acknowledges a message
}

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

// postTimeout bounds a request that sends a stream session's message.
const postTimeout = 10 * time.Second

// done returns ctx's error if ctx is done, since it explains err, and otherwise err.
func done(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
