package soak

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"dyno/services/orders/soak/history"
)

// wire is one keep-alive connection, which can pipeline requests of any accounts.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte // requests not sent yet
	body []byte // of the last answer
}

const (
	maxBody    = 16 << 10 // bytes; an order has 200, an error fewer
	maxHeaders = 64
)

func dial(address string) (*wire, error) {
	conn, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return nil, err
	}
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 8<<10)}, nil
}

// ask adds a request for an order.
func (w *wire) ask(a history.Ask, host, token string) {
	b := append(w.out, "GET /api/v1/order?uid="...)
	b = strconv.AppendInt(b, a.UID, 10)
	if a.MinVersion > 0 {
		b = strconv.AppendInt(append(b, "&min_version="...), a.MinVersion, 10)
	}
	b = append(append(b, " HTTP/1.1\r\nHost: "...), host...)
	b = append(append(b, "\r\nAuthorization: Bearer "...), token...)
	if a.Known > 0 {
		b = append(append(b, "\r\nIf-None-Match: "...), etag(a.UID, a.Known)...)
	}
	if a.Stale {
		b = append(b, "\r\nCache-Control: max-stale=60"...)
	}
	w.out = append(b, "\r\n\r\n"...)
}

func etag(uid, version int64) string { return fmt.Sprintf(`"%d-%d"`, uid, version) }

// send sends the added requests. Their answers must arrive within the timeout.
func (w *wire) send() error {
	if err := w.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := w.conn.Write(w.out)
	w.out = w.out[:0]
	return err
}

// garbled is the error for an invalid answer.
type garbled struct{ text string }

func (g *garbled) Error() string { return g.text }

// answer reads the next answer. Its body is valid until the next call. last means that the server
// then closes.
func (w *wire) answer() (a history.Answer, last bool, err error) {
	h, err := w.head()
	if err != nil {
		return a, false, err
	}
	a = history.Answer{Status: h.status, ETag: h.etag, Marked: h.marked}
	if w.body, err = h.read(w.in, w.body); err != nil {
		return a, false, err
	}
	a.Body = w.body
	if a.Status == 200 {
		if a.Row, a.Since, err = parseOrder(a.Body); err != nil {
			return a, false, &garbled{fmt.Sprintf("%v: %.300q", err, a.Body)}
		}
	}
	return a, h.last, nil
}

// head is the relevant part of the lines before a body.
type head struct {
	status int
	length int // bytes; -1 means absent
	etag   string
	marked bool
	last   bool
}

func (w *wire) head() (h head, err error) {
	line, err := w.line()
	if err != nil {
		return h, err
	}
	version, status, ok := bytes.Cut(line, []byte(" "))
	if string(version) != "HTTP/1.1" || !ok || len(status) < 3 || len(status) > 3 && status[3] != ' ' {
		return h, &garbled{fmt.Sprintf("no status line: %.300q", line)}
	}
	if h.status, err = strconv.Atoi(string(status[:3])); err != nil || h.status < 200 {
		return h, &garbled{fmt.Sprintf("no final status: %.300q", line)}
	}
	h.length = -1
	for range maxHeaders {
		if line, err = w.line(); err != nil {
			return h, err
		}
		if len(line) == 0 {
			return h, nil
		}
		if err := h.add(line); err != nil {
			return h, err
		}
	}
	return h, &garbled{fmt.Sprintf("more than %d header fields", maxHeaders)}
}

// line reads one line without its end.
func (w *wire) line() ([]byte, error) {
	line, err := w.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, &garbled{fmt.Sprintf("a line without an end: %.300q", line)}
	}
	if err != nil {
		return nil, err
	}
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok {
		return nil, &garbled{fmt.Sprintf("a line that does not end with CRLF: %.300q", line)}
	}
	return line, nil
}

// add processes one header field.
func (h *head) add(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	is := func(other string) bool { return bytes.EqualFold(name, []byte(other)) }
	switch {
	case !ok:
		return &garbled{fmt.Sprintf("no header field: %.300q", line)}
	case is("Content-Length"):
		n, err := strconv.ParseUint(string(value), 10, 31)
		if err != nil || n > maxBody || h.length >= 0 {
			return &garbled{fmt.Sprintf("not one length of at most %d bytes: %.300q", maxBody, line)}
		}
		h.length = int(n)
	case is("Transfer-Encoding"), is("Content-Encoding"):
		return &garbled{fmt.Sprintf("a short body needs none: %.300q", line)}
	case is("ETag"):
		h.etag = string(value)
	case is("Warning"):
		h.marked = bytes.HasPrefix(value, []byte("110 "))
	case is("Connection"):
		h.last = bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// read reads the body into existing memory.
func (h *head) read(from io.Reader, into []byte) ([]byte, error) {
	if h.status == 304 {
		return into[:0], nil
	}
	if h.length < 0 {
		return into[:0], &garbled{fmt.Sprintf("status %d without Content-Length", h.status)}
	}
	if cap(into) < h.length {
		into = make([]byte, h.length)
	}
	into = into[:h.length]
	_, err := io.ReadFull(from, into)
	return into, err
}
