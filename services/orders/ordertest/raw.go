package ordertest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Wire is a connection to the program, written to byte by byte.
type Wire struct {
	c    *Client
	conn net.Conn
	in   *bufio.Reader
}

// Dial opens a connection, which is closed after the test.
func (c *Client) Dial() *Wire {
	c.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.Program.URL, "http://"))
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(Patience))
	return &Wire{c, conn, bufio.NewReader(conn)}
}

// Write sends bytes; what is read shows whether they arrived.
func (w *Wire) Write(text string) error {
	_, err := io.WriteString(w.conn, text)
	return err
}

// Read reads the answer to a request of that method.
func (w *Wire) Read(method string) Reply {
	w.c.T.Helper()
	r, err := w.TryRead(method)
	if err != nil {
		w.c.T.Fatalf("reading an answer: %v", err)
	}
	return r
}

func (w *Wire) TryRead(method string) (r Reply, err error) {
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return Reply{resp.StatusCode, resp.Header, body}, err
}

// Ended returns when the program has closed the connection, which it must in time.
func (w *Wire) Ended() {
	w.c.T.Helper()
	for {
		_, err := w.in.ReadByte()
		if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
			w.c.T.Fatalf("the connection was still open after %v", Patience)
		}
		if err != nil {
			return
		}
	}
}

// Ask writes a query as it goes over the wire.
func (c *Client) Ask(account string, uid int64) string {
	return "GET " + OrderPath(uid) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(account) + "\r\n\r\n"
}
