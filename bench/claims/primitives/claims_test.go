package primitives

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"testing"
)

// kept and garbage are not on the stack.
var (
	kept    chan *int
	garbage []byte
)

// A buffer of a million pointers takes 8 MB from the start.
func TestABufferTakesItsRoom(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	kept = make(chan *int, 1_000_000)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took < 8_000_000 || took > 8_100_000 {
		t.Errorf("%d bytes", took)
	}
}

// GOGC=15 lets the heap grow by 15% from one collection to the next, and the default by 100%: the
// same garbage takes more collections.
func TestALowerGOGCCollectsMoreOften(t *testing.T) {
	live := make([]byte, 32<<20)
	collections := func(percent int) uint32 {
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range 512 {
			garbage = make([]byte, 512<<10)
		}
		runtime.ReadMemStats(&after)
		return after.NumGC - before.NumGC
	}
	if low, usual := collections(15), collections(100); low < 2*usual || usual == 0 {
		t.Errorf("%d collections with GOGC=15, %d with 100", low, usual)
	}
	runtime.KeepAlive(live)
}

// turns counts how often its owner waited for the other end after it had sent something.
type turns struct {
	net.Conn
	sent bool
	n    int
}

func (c *turns) Write(b []byte) (int, error) {
	c.sent = true
	return c.Conn.Write(b)
}

func (c *turns) Read(b []byte) (int, error) {
	if c.sent {
		c.sent = false
		c.n++
	}
	return c.Conn.Read(b)
}

// A client of TLS 1.3 may send its request after one round trip, one of TLS 1.2 after two.
func TestRoundTripsOfAHandshake(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for version, want := range map[uint16]int{tls.VersionTLS12: 2, tls.VersionTLS13: 1} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		counted := &turns{Conn: conn}
		client := tls.Client(counted, &tls.Config{RootCAs: trusted, ServerName: "example.com", MinVersion: version, MaxVersion: version})
		if err := client.Handshake(); err != nil {
			t.Fatal(err)
		}
		if counted.n != want {
			t.Errorf("%s: %d round trips, want %d", tls.VersionName(version), counted.n, want)
		}
		client.Close()
	}
}
