// Package websockettest has a WebSocket server for tests. It writes bytes as the test gives them,
// valid or not.
//
// It is not for production. The goroutines of a server have ended when its test has.
package websockettest

import (
	"bufio"
	"crypto/sha1"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Peer is the server's end of a WebSocket.
type Peer struct {
	net.Conn
	in *bufio.Reader
}

// Serve starts a server and returns its URL. Each WebSocket stays open until serve returns, or
// until the test ends.
func Serve(t testing.TB, serve func(p *Peer)) *url.URL {
	t.Helper()
	u, _ := start(t, (*httptest.Server).Start, serve)
	return u
}

// ServeTLS is Serve over TLS; the client must trust authorities.
func ServeTLS(t testing.TB, serve func(p *Peer)) (u *url.URL, authorities *x509.CertPool) {
	t.Helper()
	u, server := start(t, (*httptest.Server).StartTLS, serve)
	authorities = x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	return u, authorities
}

func start(t testing.TB, begin func(*httptest.Server), serve func(p *Peer)) (*url.URL, *httptest.Server) {
	t.Helper()
	var tasks sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		tasks.Add(1)
		defer tasks.Done()
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		mu.Lock()
		open[conn] = true
		mu.Unlock()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
			base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
		serve(&Peer{conn, buffered.Reader})
	}))
	begin(server)
	t.Cleanup(func() {
		server.Close()
		mu.Lock()
		for conn := range open {
			conn.Close()
		}
		mu.Unlock()
		tasks.Wait()
	})
	u, err := url.Parse(strings.Replace(server.URL, "http", "ws", 1) + "/rpc?x=1")
	if err != nil {
		t.Fatal(err)
	}
	return u, server
}

// Frame reads a client's frame (RFC 6455, section 5), which must be final and masked.
func (p *Peer) Frame() (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	if n >= 126 {
		wide := make([]byte, map[uint64]int{126: 2, 127: 8}[n])
		io.ReadFull(p.in, wide)
		n = binary.BigEndian.Uint64(append(make([]byte, 8-len(wide)), wide...))
	}
	if head[0]&0xf0 != 0x80 || head[1]&0x80 == 0 {
		return 0, nil, errors.New("a frame is not final, or not masked")
	}
	var key [4]byte
	io.ReadFull(p.in, key[:])
	payload = make([]byte, n)
	if _, err := io.ReadFull(p.in, payload); err != nil {
		return 0, nil, err
	}
	for i := range payload {
		payload[i] ^= key[i%4]
	}
	return head[0] & 0xf, payload, nil
}

// Text returns the frame of a text message up to 65,535 bytes.
func Text(message string) string {
	if len(message) <= 125 {
		return "\x81" + string([]byte{byte(len(message))}) + message
	}
	return "\x81\x7e" + string([]byte{byte(len(message) >> 8), byte(len(message))}) + message
}
