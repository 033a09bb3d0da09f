package http1

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"
)

// maxKeptBuffer is the largest request buffer that an idle connection keeps, in bytes: a webhook of
// one notice is smaller.
const maxKeptBuffer = 4 << 10

// conn is a connection. One request uses it at a time.
type conn struct {
	net.Conn // the writing side: TLS or raw
	to       server
	raw      net.Conn
	stop     func() bool // detaches the connection from the context
	out      []byte
	in       limited
	answers  *bufio.Reader // reads from in
	since    time.Time     // when it was last used

	socket syscall.RawConn       // nil means that the connection is not a socket
	look   func(fd uintptr) bool // what quiet calls on the socket; allocated once
	seen   bool                  // result of look
}

// limited reads at most left bytes.
type limited struct {
	from io.Reader
	left int64
}

var errLong = errors.New("the header of the answer is too long")

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errLong
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// newConn sets up a new connection. raw is the connection below secured, or the same one.
func newConn(ctx context.Context, to server, raw, secured net.Conn, deadline time.Time) *conn {
	c := &conn{Conn: secured, to: to, raw: raw}
	c.in.from = secured
	c.answers = bufio.NewReader(&c.in)
	c.stop = context.AfterFunc(ctx, func() { raw.Close() })
	secured.SetDeadline(deadline) // if it fails, so does the write
	if s, ok := raw.(syscall.Conn); ok {
		c.socket, _ = s.SyscallConn()
		c.look = func(fd uintptr) bool {
			c.seen = readable(fd)
			return true
		}
	}
	return c
}

func (c *conn) end() {
	c.stop()
	c.raw.Close() // without TLS's close_notify, which may block
}

// quiet reports whether nothing has arrived since the last response: neither the end of the
// connection nor bytes that would be read as the next response.
func (c *conn) quiet() bool {
	if c.socket == nil {
		return true
	}
	return c.socket.Read(c.look) == nil && !c.seen
}

// exchange writes a request and reads the response. resp.Close means that the connection cannot be
// reused; untouched means that nothing was written.
func (c *conn) exchange(req *http.Request, limits *Client) (resp *http.Response, untouched bool, err error) {
	if err := c.encode(req); err != nil {
		return nil, false, err
	}
	n, err := c.Write(c.out)
	if cap(c.out) > maxKeptBuffer {
		c.out = nil
	}
	if err != nil {
		return nil, n == 0 && !timeout(err), err
	}
	for range maxInterim + 1 {
		c.in.left = limits.MaxHeader
		resp, err = http.ReadResponse(c.answers, req)
		if err != nil {
			return nil, false, unread(err)
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.pass(resp, limits.MaxAnswer)
			return resp, false, nil
		}
	}
	return nil, false, fmt.Errorf("more than %d answers of 1xx", maxInterim)
}

// pass skips a response's body.
func (c *conn) pass(resp *http.Response, most int64) {
	if resp.Body != http.NoBody {
		c.in.left = most + int64(c.answers.Size()) // the reader reads ahead
		if _, err := io.CopyN(io.Discard, resp.Body, most); err != io.EOF {
			resp.Close = true
		}
		resp.Body = http.NoBody
	}
	resp.Close = resp.Close || resp.StatusCode < 200 || c.answers.Buffered() > 0
}

func unread(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the connection was closed before there was an answer: %w", err)
	}
	return err
}

func timeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// hostField reports whether a host can be the Host of a request: ASCII without spaces, and without
// the zone of an address, which means nothing elsewhere (RFC 6874, 1).
func hostField(host string) bool {
	return host != "" && httpguts.ValidHostHeader(host) && !strings.ContainsAny(host, "%/?#@\\\"<>^`{|}")
}

// encode writes the request's bytes to the buffer.
func (c *conn) encode(req *http.Request) error {
	target := req.URL.RequestURI()
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || !hostField(req.URL.Host) {
		return errors.New("the URL cannot be sent: it has characters that must be percent-encoded, or an invalid host")
	}
	out := append(c.out[:0], req.Method...)
	out = append(append(out, ' '), target...)
	out = append(out, " HTTP/1.1\r\nHost: "...)
	out = append(append(out, req.URL.Host...), "\r\n"...)
	for name, values := range req.Header {
		for _, value := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("the header %q cannot be sent", name)
			}
			out = append(append(append(append(out, name...), ": "...), value...), "\r\n"...)
		}
	}
	out = strconv.AppendInt(append(out, "Content-Length: "...), req.ContentLength, 10)
	out = append(out, "\r\n\r\n"...)
	head, size := len(out), int(req.ContentLength)
	c.out = append(out, make([]byte, size)...)
	_, err := io.ReadFull(req.Body, c.out[head:])
	return err
}
