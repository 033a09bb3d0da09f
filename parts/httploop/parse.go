package httploop

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"
	"unsafe"

	"golang.org/x/net/http/httpguts"
)

// refusal is the response to bytes that are not served as a request. It ends the connection.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func bad(text string) *refusal { return &refusal{http.StatusBadRequest, text} }

// The refusals. Their texts repeat nothing of the request.
var (
	errLine     = bad("the first line is not METHOD TARGET HTTP/1.1")
	errBareLF   = bad("a line of the head ends with a line feed alone")
	errTarget   = bad("the target is no path and no http URL")
	errField    = bad("a header field is not NAME: VALUE in allowed characters, on one line")
	errHost     = bad("HTTP/1.1 needs the header Host, once and with a host")
	errLength   = bad("Content-Length is not one number")
	errBoth     = bad("Content-Length and Transfer-Encoding are both there")
	errCoding   = bad("Transfer-Encoding is not chunked, once, in HTTP/1.1")
	errTrailer  = bad("Trailer announces a field that must not be a trailer")
	errChunk    = bad("the body is not chunked as Transfer-Encoding says")
	errVersion  = &refusal{http.StatusHTTPVersionNotSupported, "this server speaks HTTP/1.1 and HTTP/1.0"}
	errExpect   = &refusal{http.StatusExpectationFailed, "Expect can only be 100-continue"}
	errLongLine = &refusal{http.StatusRequestURITooLong, "the first line is too long"}
	errLongHead = &refusal{http.StatusRequestHeaderFieldsTooLarge, "the head is too long, or has too many fields"}
	errLongBody = &refusal{http.StatusRequestEntityTooLarge, "the body is too large"}
	errOverfull = &refusal{http.StatusServiceUnavailable, "too many connections are open here; try again later"}
	errBuffered = &refusal{http.StatusServiceUnavailable, "too many requests are being read here; try again later"}
	errLate     = &refusal{http.StatusRequestTimeout, "the request did not arrive in time"}
)

// maxFields limits the number of header fields of a request.
const maxFields = 100

// framing is where a request's body ends, and what happens to the connection.
type framing struct {
	length int  // bytes of the body; -1 means chunked
	expect bool // the client waits for 100 Continue before it sends the body
}

const chunked = -1

// headEnd looks for the empty line that ends a head, from the start of a line of b. It returns the
// end, 0 if it has not arrived, and the start of the line to continue from.
func headEnd(b []byte, from int) (end, next int, err *refusal) {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		switch {
		case i < 0:
			return 0, from, nil
		case i == 0 || b[from+i-1] != '\r':
			return 0, from, errBareLF
		case i == 1:
			return from + 2, from + 2, nil
		}
		from += i + 1
	}
}

// parseHead parses a complete head, including its empty line, and keeps views of it.
func (r *Request) parseHead(head []byte, maxBody int) (f framing, err *refusal) {
	line, rest := cutLine(text(head))
	if err := r.parseLine(line); err != nil {
		return f, err
	}
	var lengths, hosts, codings int
	var length, coding, trailer string
	for {
		line, rest = cutLine(rest)
		if line == "" {
			break
		}
		name, value, ok := field(line)
		switch {
		case !ok:
			return f, errField
		case len(r.Fields) == maxFields:
			return f, errLongHead
		}
		r.Fields = append(r.Fields, Field{name, value})
		switch len(name) { // most names differ from these in length
		case len("Host"):
			if strings.EqualFold(name, "Host") {
				hosts++
				if r.Host == "" {
					r.Host = value
				}
				if !httpguts.ValidHostHeader(value) {
					return f, errHost
				}
			}
		case len("Expect"):
			if strings.EqualFold(name, "Expect") && !r.old {
				if f.expect = strings.EqualFold(value, "100-continue"); !f.expect {
					return f, errExpect
				}
			}
		case len("Trailer"):
			if strings.EqualFold(name, "Trailer") {
				trailer += "," + value
			}
		case len("Connection"):
			if strings.EqualFold(name, "Connection") && hasToken(value, "close") {
				r.last = true
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
	switch {
	case hosts > 1 || hosts == 0 && !r.old:
		return f, errHost
	case codings > 0 && lengths > 0:
		return f, errBoth
	case codings > 0:
		if codings > 1 || r.old || !strings.EqualFold(coding, "chunked") {
			return f, errCoding
		}
		if forbidden(trailer) {
			return f, errTrailer
		}
		f.length = chunked
		return f, nil
	case lengths > 0:
		if lengths > 1 {
			return f, errLength
		}
		f.length, err = parseLength(length, maxBody)
	}
	return f, err
}

func (r *Request) parseLine(line string) *refusal {
	method, rest, ok1 := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || !token(method) || target == "" || !plain(target, false) {
		return errLine
	}
	switch {
	case version == "HTTP/1.1":
	case version == "HTTP/1.0":
		r.old, r.last = true, true // one request per connection: keep-alive was never agreed on
	case len(version) == len("HTTP/1.1") && strings.HasPrefix(version, "HTTP/") && version[6] == '.' && digit(version[5]) && digit(version[7]):
		return errVersion
	default:
		return errLine
	}
	r.Method, r.Target = method, target
	if target[0] == '/' && strings.IndexByte(target, '%') < 0 {
		r.Path, r.Query, _ = strings.Cut(target, "?")
		return nil
	}
	u, err := url.ParseRequestURI(target)
	switch {
	case err != nil, method == http.MethodConnect:
		return errTarget
	case target[0] == '/', target == "*":
	case !strings.EqualFold(u.Scheme, "http") || u.Host == "" || u.User != nil:
		return errTarget
	}
	r.Path, r.Query, r.Host = u.Path, u.RawQuery, u.Host
	return nil
}

// parseLength reads decimal digits only: parsers differ on signs, lists and hexadecimal numbers.
func parseLength(s string, most int) (n int, err *refusal) {
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

// cutLine splits after the first line. headEnd has checked that it ends with \r\n.
func cutLine(s string) (line, rest string) {
	i := strings.IndexByte(s, '\n')
	return s[:i-1], s[i+1:]
}

// field splits a header line. A name with white space is no token: continued lines are refused.
func field(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, ":")
	value = strings.Trim(value, " \t")
	return name, value, ok && token(name) && plain(value, true)
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
