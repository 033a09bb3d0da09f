package fleet

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"dyno/parts/servicetest"
)

// Nodes that listen at all addresses find one another by those that reach them.
func TestAllAddresses(t *testing.T) {
	a, _ := start(t, "a", ":0")
	_, port, _ := net.SplitHostPort(a.Addr())
	b, _ := start(t, "b", ":0", "127.0.0.1:"+port)
	_, port, _ = net.SplitHostPort(b.Addr())
	c, _ := start(t, "c", "127.0.0.1:0", "127.0.0.1:"+port)
	for _, f := range []*Fleet{a, b, c} {
		awaitNodes(t, f, "a", "b", "c")
	}
	if at := b.door.address([]string{"127.0.0.1:1"}); at != "127.0.0.1:"+port {
		t.Errorf("a node that reaches others over loopback is advertised at %s", at)
	}
	if host, _, err := net.SplitHostPort(b.door.address(nil)); err != nil || net.ParseIP(host) == nil || net.ParseIP(host).IsUnspecified() {
		t.Errorf("a node without a route is advertised at %q, %v", host, err)
	}
}

// Strangers' connections do not keep another node out for longer than their handshake may take.
func TestStrangersLeaveRoom(t *testing.T) {
	a, _ := start(t, "a", "127.0.0.1:0")
	var strangers []net.Conn
	for range 50 {
		c, err := net.Dial("tcp", a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, c)
	}
	b, _ := start(t, "b", "127.0.0.1:0", a.Addr())
	awaitNodes(t, b, "a", "b")
	for _, c := range strangers {
		c.SetReadDeadline(time.Now().Add(servicetest.Patience))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a connection that proves nothing stays")
		}
		c.Close()
	}
}
