package jsonrpc_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dyno/services/chain/jsonrpc"
)

const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

// status sends the text of a request, all of it before it reads, and returns the answer's status.
func status(t *testing.T, address, text string) int {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Errorf("%.100q..: %v", text, err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%.100q..: %v", text, err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// Clients that send a whole body before they read (Python's http.client) receive the answer that it
// is too large, and no error of a connection that breaks.
func TestReadsBodiesThatAreTooLarge(t *testing.T) {
	h := httptest.NewServer(jsonrpc.NewServer(methods(), jsonrpc.Options{Codec: jsonrpc.Std{}}))
	defer h.Close()
	const size = 20_000_000 // more than the buffers of two sockets
	for _, text := range []string{
		fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, size, strings.Repeat(" ", size)),
		fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, size, strings.Repeat(" ", size)),
		fmt.Sprintf("%sExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", head, size), // it has not sent the body
	} {
		if got := status(t, h.Listener.Addr().String(), text); got != http.StatusRequestEntityTooLarge {
			t.Errorf("%.120q..: %d", text, got)
		}
	}
}

func TestSaysWhyABodyDidNotArrive(t *testing.T) {
	for text, tt := range map[string]struct {
		timeout time.Duration
		status  int
	}{
		"Transfer-Encoding: chunked\r\n\r\nZZ\r\n": {0, http.StatusBadRequest},               // no chunk
		"Content-Length: 9\r\n\r\n{":               {time.Second, http.StatusRequestTimeout}, // it is for the head, too
	} {
		h := httptest.NewUnstartedServer(jsonrpc.NewServer(methods(), jsonrpc.Options{Codec: jsonrpc.Std{}}))
		h.Config.ReadTimeout = tt.timeout
		h.Start()
		if got := status(t, h.Listener.Addr().String(), head+text); got != tt.status {
			t.Errorf("%q: %d", text, got)
		}
		h.Close()
	}
}
