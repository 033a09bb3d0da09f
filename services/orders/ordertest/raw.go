package ordertest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// wire is a connection to the program, written to byte by byte.
type wire struct {
	c    *client
	conn net.Conn
	in   *bufio.Reader
}

// dial opens a connection, which is closed after the test.
func (c *client) dial() *wire {
	c.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.program.URL, "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &wire{c, conn, bufio.NewReader(conn)}
}

// write sends bytes; what is read shows whether they arrived.
func (w *wire) write(text string) error {
	_, err := io.WriteString(w.conn, text)
	return err
}

// read reads the answer to a request of that method.
func (w *wire) read(method string) reply {
	w.c.t.Helper()
	r, err := w.tryRead(method)
	if err != nil {
		w.c.t.Fatalf("reading an answer: %v", err)
	}
	return r
}

func (w *wire) tryRead(method string) (r reply, err error) {
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body}, err
}

// ended returns when the program has closed the connection, which it must in time.
func (w *wire) ended() {
	w.c.t.Helper()
	for {
		_, err := w.in.ReadByte()
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			w.c.t.Fatalf("the connection was still open after %v", patience)
		}
		if err != nil {
			return
		}
	}
}
