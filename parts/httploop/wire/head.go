// Package wire reads HTTP/1.1 requests and writes responses, in memory that the caller has: a
// request is views of the bytes received, and nothing is allocated for it.
//
// It accepts less than net/http: where two parsers could disagree on where a request ends, it
// refuses. It is not for sockets or connections (package httploop), nor for clients. It starts no
// goroutines.
package wire

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"
	"unsafe"

	"golang.org/x/net/http/httpguts"
)

// Refusal is the response to bytes that are not served as a request. It ends the connection.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func bad(text string) *Refusal { return &Refusal{http.StatusBadRequest, text} }

// The refusals. Their texts repeat nothing of the request.
var (
	errLine     = bad("the first line is not METHOD TARGET HTTP/1.1")
	errBareLF   = bad("a line of the head ends with a line feed alone")
	errTarget   = bad("the target is no path and no http or https URL")
	errField    = bad("a header field is not NAME: VALUE in allowed characters, on one line")
	errHost     = bad("HTTP/1.1 needs the header Host, once and with a host")
	errLength   = bad("Content-Length is not one number")
	errBoth     = bad("Content-Length and Transfer-Encoding are both there")
	errCoding   = bad("Transfer-Encoding is not chunked, once, in HTTP/1.1")
	errTrailer  = bad("Trailer announces a field that must not be a trailer")
	errChunk    = bad("the body is not chunked as Transfer-Encoding says")
	errVersion  = &Refusal{http.StatusHTTPVersionNotSupported, "this server speaks HTTP/1.1 and HTTP/1.0"}
	errExpect   = &Refusal{http.StatusExpectationFailed, "Expect can only be 100-continue"}
	errLongLine = &Refusal{http.StatusRequestURITooLong, "the first line is too long"}
	errLongHead = &Refusal{http.StatusRequestHeaderFieldsTooLarge, "the head is too long, or has too many fields"}
	errLongBody = &Refusal{http.StatusRequestEntityTooLarge, "the body is too large"}
)

// maxFields limits the number of header fields of a request.
const maxFields = 100

// Field is a header field as received, without the white space around its value.
type Field struct{ Name, Value string }

// Is reports whether a field has a name, ignoring case.
func (f *Field) Is(name string) bool {
	return len(f.Name) == len(name) && strings.EqualFold(f.Name, name)
}

// Head is the first line of a request and its header fields. Its strings are views of the bytes
// that it was parsed from.
type Head struct {
	Method string
	Target string // as in the first line
	Path   string // decoded
	Query  string // as received, without the question mark
	Host   string // from an absolute target, else from the field Host
	Fields []Field

	Last bool // its connection has no request after it
	old  bool // HTTP/1.0
}

// Field returns the first value of a header field by name, ignoring case; "" if there is none.
func (h *Head) Field(name string) string {
	for i := range h.Fields {
		if f := &h.Fields[i]; f.Is(name) {
			return f.Value
		}
	}
	return ""
}

// FindHead looks for the empty line that ends a head of at most a number of bytes, from the start
// of a line of b. It returns the end, 0 if it has not arrived, and the start of the line to
// continue from.
func FindHead(b []byte, from, most int) (end, next int, err *Refusal) {
	for next = from; end == 0; {
		i := bytes.IndexByte(b[next:], '\n')
		if i < 0 {
			break
		}
		if i == 0 || b[next+i-1] != '\r' {
			return 0, next, errBareLF
		}
		next += i + 1
		if i == 1 {
			end = next
		}
	}
	switch {
	case next <= most && (end > 0 || len(b) < most):
		return end, next, nil
	case next == 0:
		return 0, 0, errLongLine
	}
	return 0, next, errLongHead
}

// Parse parses a complete head, including its empty line, and keeps views of it. The body may have
// a number of bytes.
func (h *Head) Parse(head []byte, maxBody int) (b Body, err *Refusal) {
	line, rest := cutLine(text(head))
	if err := h.parseLine(line); err != nil {
		return b, err
	}
	var lengths, hosts, codings int
	var kept bool // HTTP/1.0 that asks for another request on its connection
	var length, coding, trailer string
	for {
		line, rest = cutLine(rest)
		if line == "" {
			break
		}
		name, value, ok := field(line)
		switch {
		case !ok:
			return b, errField
		case len(h.Fields) == maxFields:
			return b, errLongHead
		}
		h.Fields = append(h.Fields, Field{name, value})
		switch len(name) { // most names differ from these in length
		case len("Host"):
			if strings.EqualFold(name, "Host") {
				hosts++
				if h.Host == "" {
					h.Host = value
				}
				if !httpguts.ValidHostHeader(value) {
					return b, errHost
				}
			}
		case len("Expect"):
			if strings.EqualFold(name, "Expect") && !h.old {
				if b.expect = strings.EqualFold(value, "100-continue"); !b.expect {
					return b, errExpect
				}
			}
		case len("Trailer"):
			if strings.EqualFold(name, "Trailer") {
				trailer += "," + value
			}
		case len("Connection"):
			if strings.EqualFold(name, "Connection") {
				h.Last = h.Last || hasToken(value, "close")
				kept = kept || h.old && hasToken(value, "keep-alive")
			}
		case len("Content-Length"):
			if strings.EqualFold(name, "Content-Length") {
				lengths++
				length = value
			}
		case len("Transfer-Encoding"):
			if strings.EqualFold(name, "Transfer-Encoding") {
				codings++
				coding = value
			}
		}
	}
	if h.old && !(kept && (lengths > 0 || h.Method == http.MethodGet || h.Method == http.MethodHead)) {
		h.Last = true // also where its end is not certain: a body may follow
	}
	switch {
	case hosts > 1 || hosts == 0 && !h.old:
		return b, errHost
	case codings > 0 && lengths > 0:
		return b, errBoth
	case codings > 0:
		if codings > 1 || h.old || !strings.EqualFold(coding, "chunked") {
			return b, errCoding
		}
		if forbidden(trailer) {
			return b, errTrailer
		}
		b.length = chunked
		return b, nil
	case lengths > 0:
		if lengths > 1 {
			return b, errLength
		}
		b.length, err = parseLength(length, maxBody)
	}
	return b, err
}

func (h *Head) parseLine(line string) *Refusal {
	method, rest, ok1 := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || !token(method) || target == "" || !plain(target, false) {
		return errLine
	}
	switch {
	case version == "HTTP/1.1":
	case version == "HTTP/1.0":
		h.old = true
	case len(version) == len("HTTP/1.1") && strings.HasPrefix(version, "HTTP/") && version[6] == '.' && digit(version[5]) && digit(version[7]):
		return errVersion
	default:
		return errLine
	}
	h.Method, h.Target = method, target
	if target[0] == '/' && strings.IndexByte(target, '%') < 0 {
		h.Path, h.Query, _ = strings.Cut(target, "?")
		return nil
	}
	u, err := url.ParseRequestURI(target)
	switch {
	case err != nil, method == http.MethodConnect:
		return errTarget
	case target[0] == '/', target == "*":
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.User != nil: // whatever the connection is (RFC 9112, 3.2.2); the scheme is in lower case
		return errTarget
	}
	h.Path, h.Query, h.Host = u.Path, u.RawQuery, u.Host
	return nil
}

// parseLength reads decimal digits only: parsers differ on signs, lists and hexadecimal numbers.
func parseLength(s string, most int) (n int, err *Refusal) {
	if s == "" {
		return 0, errLength
	}
	long := false
	for i := range len(s) {
		if !digit(s[i]) {
			return 0, errLength
		}
		if n = n*10 + int(s[i]-'0'); n > most {
			n, long = most, true
		}
	}
	if long {
		return 0, errLongBody
	}
	return n, nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// cutLine splits after the first line. FindHead has checked that it ends with \r\n.
func cutLine(s string) (line, rest string) {
	i := strings.IndexByte(s, '\n')
	return s[:i-1], s[i+1:]
}

// field splits a header line. A name with white space is no token: continued lines are refused.
func field(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	value = trim(value)
	return name, value, ok && token(name) && plain(value, true)
}

// trim removes white space around a value: almost always the one space before it.
func trim(s string) string {
	s = strings.TrimPrefix(s, " ")
	if s != "" && (s[0] <= ' ' || s[len(s)-1] <= ' ') {
		return strings.Trim(s, " \t")
	}
	return s
}

// token reports whether s is a token of RFC 9110, 5.6.2.
func token(s string) bool {
	for i := range len(s) {
		if !httpguts.IsTokenRune(rune(s[i])) {
			return false
		}
	}
	return s != ""
}

// plain reports whether s has no control characters, except tabs if they are allowed.
func plain(s string, tabs bool) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	for len(b) >= 8 { // eight bytes per step: tokens are long
		w := binary.LittleEndian.Uint64(b)
		del := w ^ 0x7f*ones
		if ((w-0x20*ones)&^w|(del-ones)&^del)&highs != 0 {
			break // a byte below 0x20, or 0x7f
		}
		b = b[8:]
	}
	for _, c := range b {
		if c < ' ' && !(tabs && c == '\t') || c == 0x7f {
			return false
		}
	}
	return true
}

// hasToken reports whether a list contains a token, ignoring case.
func hasToken(list, want string) bool {
	for element := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.Trim(element, " \t"), want) {
			return true
		}
	}
	return false
}

// forbidden reports whether a list of trailers names a field that determines where a message ends.
func forbidden(trailer string) bool {
	return trailer != "" && (hasToken(trailer, "Transfer-Encoding") || hasToken(trailer, "Content-Length") || hasToken(trailer, "Trailer"))
}

// text returns b as a string without copying.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
