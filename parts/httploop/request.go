package httploop

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Field is a header field as received, without the white space around its value.
type Field struct{ Name, Value string }

// Request is a request and its response. Its strings and bytes from the client are views of the
// connection's buffer, valid until Done: a service that keeps any of them makes a copy.
type Request struct {
	Method string
	Target string // as in the first line
	Path   string // decoded
	Query  string // as received, without the question mark
	Host   string // from an absolute target, else from the field Host
	Fields []Field
	Body   []byte

	Response Response

	// Data belongs to the service. It stays with the Request when the server reuses it.
	Data any

	conn *conn
	next *Request // the following request of the same connection

	old      bool // HTTP/1.0
	answered bool // Done was called, and the loop has noticed
	last     bool // nothing more is read from its connection
}

// Response reuses its memory: append to Fields and Body, which are empty at first.
type Response struct {
	Status int    // 200 to 599
	Fields []byte // whole lines with \r\n. The server adds Date, Content-Length and Connection
	Body   []byte // not sent to HEAD, nor with 204 and 304
}

// Add adds a header field. In a value, it replaces control characters with spaces.
func (p *Response) Add(name, value string) {
	p.Fields = append(p.Fields, name...)
	p.Fields = append(p.Fields, ": "...)
	from := len(p.Fields)
	p.Fields = append(p.Fields, value...)
	for i, c := range p.Fields[from:] {
		if c < ' ' && c != '\t' || c == 0x7f {
			p.Fields[from+i] = ' '
		}
	}
	p.Fields = append(p.Fields, "\r\n"...)
}

// Reset empties the answer and keeps its memory.
func (p *Response) Reset() { *p = Response{Fields: p.Fields[:0], Body: p.Body[:0]} }

// Field returns the first value of a header field by name, ignoring case; "" if there is none.
func (r *Request) Field(name string) string {
	for i := range r.Fields {
		if f := &r.Fields[i]; len(f.Name) == len(name) && strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Remote returns the client's address; the zero AddrPort if it has none.
func (r *Request) Remote() netip.AddrPort { return r.conn.remote }

// Done completes requests: the server sends their responses, in the order of the requests on each
// connection. Any goroutine may call it. Afterwards the requests belong to the server again.
func Done(requests ...*Request) {
	for i := 0; i < len(requests); {
		l, from := requests[i].conn.loop, i
		for i < len(requests) && requests[i].conn.loop == l {
			i++
		}
		l.complete(requests[from:i])
	}
}

// maxKept limits the memory that a request keeps for the next one, in bytes.
const maxKept = 16 << 10

// reset clears everything except memory and Data.
func (r *Request) reset() {
	fields, resp, data := r.Fields, r.Response, r.Data
	clear(fields) // they refer to the connection's buffer
	resp.Reset()
	if cap(resp.Body) > maxKept || cap(resp.Fields) > maxKept {
		resp = Response{}
	}
	*r = Request{Fields: fields[:0], Response: resp, Data: data}
}

// append appends the response to b. date is a whole line.
func (r *Request) append(b, date []byte, closing bool) []byte {
	p := &r.Response
	if p.Status < 200 || p.Status > 599 {
		p.Status = http.StatusInternalServerError
	}
	b = append(b, statusLines[p.Status-200]...)
	b = append(b, date...)
	b = append(b, p.Fields...)
	if closing {
		b = append(b, "Connection: close\r\n"...)
	}
	if p.Status == http.StatusNoContent || p.Status == http.StatusNotModified {
		return append(b, "\r\n"...)
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(p.Body)), 10)
	b = append(b, "\r\n\r\n"...)
	if r.Method == http.MethodHead {
		return b
	}
	return append(b, p.Body...)
}

var statusLines = func() (lines [400]string) {
	for i := range lines {
		lines[i] = "HTTP/1.1 " + strconv.Itoa(200+i) + " " + http.StatusText(200+i) + "\r\n"
	}
	return lines
}()

func dateLine(now time.Time) []byte {
	return now.UTC().AppendFormat(nil, "Date: "+http.TimeFormat+"\r\n")
}
