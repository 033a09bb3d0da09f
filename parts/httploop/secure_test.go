//go:build linux

package httploop

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"dyno/parts/lameduck"
	"dyno/parts/servicetest"
)

// everywhere is the TLS of servers whose test sets none; nil means that they have none.
var everywhere *tls.Config

// over returns a client's stream over a connection.
func over(server *tls.Config, c net.Conn) stream {
	if server == nil {
		return c.(*net.TCPConn)
	}
	return tls.Client(c, &tls.Config{InsecureSkipVerify: true})
}

func (c *client) reset() {
	tcp, ok := c.stream.(*net.TCPConn)
	if over, is := c.stream.(*tls.Conn); is {
		tcp, ok = over.NetConn().(*net.TCPConn)
	}
	if ok {
		tcp.SetLinger(0)
		tcp.Close()
	}
}

// selfSigned returns the configuration of a server with a certificate of its own.
func selfSigned(t *testing.T) *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2", "http/1.1"}}
}

// What holds without TLS holds with it.
func TestOverTLS(t *testing.T) {
	everywhere = selfSigned(t)
	t.Cleanup(func() { everywhere = nil })
	for name, test := range map[string]func(*testing.T){
		"answers": TestAnswers, "HTTP/1.0": TestHTTP10, "order": TestOrder, "refuses": TestRefuses, "bodies": TestBodies, "alone": TestUnsafeMethodsRunAlone,
		"timeouts": TestTimeouts, "half closed": TestHalfClosed, "gone": TestGone, "drain": TestDrain, "late": TestDrainAnswersLateRequests,
		"cut off": TestCutOff, "buffered": TestMaxBuffered, "silent": TestSilentConnectionsHoldNoBuffer, "room": TestRefusedForRoomIsNotReset,
		"given back": TestBufferedIsGivenBack, "large": TestLargeAnswers, "slow": TestSlowClientsGiveWay, "leaves": TestLeaves, "behind": TestLeavesBehindRequestsUnderWay,
		"continues": TestContinuesOnce, "desync": TestNoDesync,
		"returns": TestReturns, "returns less often": TestReturnsLessOften, "pipelined": TestReturnsBetweenPipelined, "drain of returning": TestDrainOfReturning,
		"returns without loss": TestReturnsWithoutLoss, "returns without files": TestReturnsWithoutFiles,
	} {
		t.Run(name, test)
	}
}

// A stream is the same however its records are cut, and whenever they arrive.
func TestRecordsInPieces(t *testing.T) {
	s := serve(t, Options{TLS: selfSigned(t), MaxBody: 1 << 20})
	for _, piece := range []int{1, 7, 100, 5000, 20_000} {
		tcp, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		tcp.SetDeadline(time.Now().Add(patience))
		c := tls.Client(&cutting{tcp.(*net.TCPConn), piece}, &tls.Config{InsecureSkipVerify: true})
		body := strings.Repeat("0123456789", 30*piece%50_000)
		go fmt.Fprintf(c, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s%s", len(body), body, get)
		in := bufio.NewReader(c)
		for _, want := range []string{"POST /a  " + body, "GET /a b=c "} {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != want {
				t.Errorf("pieces of %d: %d bytes, %v; want %d", piece, len(got), err, len(want))
			}
		}
		c.Close()
	}
}

// cutting writes in pieces.
type cutting struct {
	*net.TCPConn
	piece int
}

func (c *cutting) Write(b []byte) (n int, err error) {
	for len(b) > n && err == nil {
		var m int
		m, err = c.TCPConn.Write(b[n:min(len(b), n+c.piece)])
		n += m
	}
	return n, err
}

// A client may resume its session, on any loop.
func TestResumes(t *testing.T) {
	s := serve(t, Options{TLS: selfSigned(t), Loops: 2})
	config := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1), ServerName: "x"}
	for i := range 4 {
		c, err := tls.Dial("tcp", s.address, config)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, get)
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		if got := c.ConnectionState().DidResume; got != (i > 0) {
			t.Errorf("connection %d: resumed %t", i, got)
		}
		c.Close()
	}
}

// A client that offers HTTP/2, and one that does not speak TLS, leave with all that they have sent.
func TestLeavesBeforeTheHandshake(t *testing.T) {
	others := make(chan lameduck.Handed, 1)
	s := serve(t, Options{TLS: selfSigned(t), Serves: func(*Request) string { return "" }, Leave: func(h lameduck.Handed) { others <- h }})
	for name, say := range map[string]func(net.Conn){
		"h2": func(c net.Conn) {
			tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}).Handshake()
		},
		"plain": func(c net.Conn) { io.WriteString(c, get) },
	} {
		tcp, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { say(tcp); close(ended) }()
		h := <-others
		if name == "h2" {
			again := tls.Server(&transport{Conn: h.TCPConn, in: h.Unread, known: true}, s.options.TLS)
			if err := again.Handshake(); err != nil || again.ConnectionState().NegotiatedProtocol != "h2" {
				t.Errorf("the next server's handshake: %v", err)
			}
		} else if h.Over != nil || string(h.Unread) != get {
			t.Errorf("%s: %.20q", name, h.Unread)
		}
		<-ended
		h.Close()
		h.Gone()
		tcp.Close()
	}
	servicetest.Await(t, func() string { return "the connections' end" }, func() bool { return s.Stats().Connections == 0 })
}

// What is no handshake, ends in it or takes too long costs the server nothing that lasts.
func TestFailedHandshakes(t *testing.T) {
	s := serve(t, Options{TLS: selfSigned(t), ReadTimeout: 50 * time.Millisecond})
	for _, text := range []string{get, "", "\x16\x03\x01\x00\x05", "\x16\x03\x01\x00\x05hello"} {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(patience))
		io.WriteString(c, text)
		io.ReadAll(c)
		c.Close()
	}
	servicetest.Await(t, func() string { return "the connections' end" }, func() bool { return s.Stats().Connections == 0 })
	if n := s.Stats(); n.Refused != 4 || n.Requests != 0 {
		t.Errorf("%+v", n)
	}
}

// raw opens a connection and makes its handshake, for a client that writes records of its own.
func (s *served) raw(t *testing.T) (*net.TCPConn, *tls.Conn, *records) {
	t.Helper()
	tcp, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	tcp.SetDeadline(time.Now().Add(patience))
	kept := &records{Conn: tcp}
	c := tls.Client(kept, &tls.Config{InsecureSkipVerify: true})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	kept.keep = true
	return tcp.(*net.TCPConn), c, kept
}

// records keeps what is written to it, from some time on.
type records struct {
	net.Conn
	keep bool
	kept []byte
}

func (r *records) Write(b []byte) (int, error) {
	if !r.keep {
		return r.Conn.Write(b)
	}
	r.kept = append(r.kept, b...)
	return len(b), nil
}

// A record that is refused, of a client that has reset its connection, ends that connection alone.
func TestAlertToNobody(t *testing.T) {
	s := serve(t, Options{TLS: selfSigned(t)})
	for range 300 {
		tcp, c, kept := s.raw(t)
		io.WriteString(c, "GET / HTTP/1.1\r\nHo")
		tcp.SetLinger(0)
		tcp.Write(append(kept.kept, "\x17\x03\x03\x00\x20abcdefghijklmnopqrstuvwxyz012345"...))
		tcp.Close()
	}
	c := s.dial()
	c.send(get)
	c.answer("GET")
}

// What connections with TLS held is given back, also of those that leave or are cut off with
// records that were not read.
func TestSecureBuffersAreGivenBack(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	for name, o := range map[string]Options{
		"left": {Serves: func(*Request) string { return "" }, Leave: func(h lameduck.Handed) { h.Close(); h.Gone() }}, "refused": {},
	} {
		o.TLS, o.MaxBody = selfSigned(t), 1000
		s := serve(t, o)
		for range 20 {
			c := s.dial()
			fmt.Fprintf(c, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(long), long)
			io.Copy(io.Discard, c.stream)
			c.Close()
		}
		servicetest.Await(t, func() string { return "the end of connections that " + name }, func() bool { return s.Stats().Connections == 0 })
		if n := s.Stats().Buffered; n != 0 {
			t.Errorf("%s: %d bytes are counted without a connection", name, n)
		}
	}
}

// A drain does not wait for a client that has connected and sent nothing.
func TestDrainOfSilentClients(t *testing.T) {
	s := serve(t, Options{TLS: selfSigned(t), ReadTimeout: time.Hour, lull: 50 * time.Millisecond})
	tcp, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	servicetest.Await(t, func() string { return "the connection" }, func() bool { return s.Stats().Accepted == 1 })
	if err := s.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	s.ended <- <-s.ended
}
