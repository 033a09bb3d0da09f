//go:build linux

package notify

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"
)

// A connection that net/http serves counts among the front's until it is closed, a stream's too.
func TestFrontCountsWhatItLeaves(t *testing.T) {
	s := newFronted(t, "loop", nil)
	var conns []net.Conn
	for _, request := range []string{"GET /v1/stats HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/stream HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"} {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, request)
		if _, err := bufio.NewReader(conn).ReadByte(); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	if n := s.front.Stats().Connections; n != int64(len(conns)) {
		t.Errorf("%d connections, want %d", n, len(conns))
	}
	for _, conn := range conns {
		conn.Close()
	}
	for s.front.Stats().Connections > 0 {
		time.Sleep(time.Millisecond) // until net/http has seen it
	}
}
