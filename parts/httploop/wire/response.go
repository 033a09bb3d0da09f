package wire

import (
	"net/http"
	"strconv"
	"time"
)

// Response reuses its memory: append to Fields and Body, which are empty at first.
type Response struct {
	Status int    // 200 to 599
	Fields []byte // whole lines with \r\n. AppendHead adds Date, Content-Length and Connection
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

// AppendHead appends the head of the response to a request to b, and reports whether its body
// follows. date is a whole line.
func (p *Response) AppendHead(b []byte, h *Head, date []byte, closing bool) (_ []byte, body bool) {
	if p.Status < 200 || p.Status > 599 {
		p.Status = http.StatusInternalServerError
	}
	b = append(b, statusLines[p.Status-200]...)
	b = append(b, date...)
	b = append(b, p.Fields...)
	switch {
	case closing:
		b = append(b, "Connection: close\r\n"...)
	case h.old: // otherwise its client would end the connection
		b = append(b, "Connection: keep-alive\r\n"...)
	}
	if p.Status == http.StatusNoContent || p.Status == http.StatusNotModified {
		return append(b, "\r\n"...), false
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(p.Body)), 10)
	return append(b, "\r\n\r\n"...), h.Method != http.MethodHead
}

var statusLines = func() (lines [400]string) {
	for i := range lines {
		lines[i] = "HTTP/1.1 " + strconv.Itoa(200+i) + " " + http.StatusText(200+i) + "\r\n"
	}
	return lines
}()

// DateLine is the header line with the time of a response.
func DateLine(now time.Time) []byte {
	return now.UTC().AppendFormat(nil, "Date: "+http.TimeFormat+"\r\n")
}
