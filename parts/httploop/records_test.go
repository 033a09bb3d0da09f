//go:build linux

package httploop

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// secured is a connection with TLS of a loop that is not running, and its client, whose records are
// kept until they are taken.
type secured struct {
	loop *loop
	conn *conn
	*tls.Conn
	*records
	keys bytes.Buffer // log of the client's secrets
}

func (s *secured) Read(b []byte) (int, error) { return s.Conn.Read(b) }

// take returns the records that the client has made.
func (s *secured) take() []byte {
	b := s.kept
	s.kept = nil
	return b
}

// send sends bytes as they are.
func (s *secured) send(b []byte) { s.records.Conn.Write(b) }

func pairedOverTLS(t *testing.T) *secured {
	l, c, client := paired(t)
	s := &secured{loop: l, conn: c}
	of := func(fd int) net.Conn {
		f := os.NewFile(uintptr(fd), "pair")
		defer f.Close()
		conn, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	again, err := unix.FcntlInt(uintptr(c.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	under := &transport{Conn: of(again), known: true}
	over := tls.Server(under, selfSigned(t))
	s.records = &records{Conn: of(client)}
	t.Cleanup(func() { s.records.Conn.Close() })
	s.Conn = tls.Client(s.records, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &s.keys})
	failed := make(chan error)
	go func() { failed <- over.Handshake() }()
	if err := s.Conn.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	s.keep = true
	under.Conn.Close()
	under.Conn, c.secure = nil, &secure{Conn: over, under: under}
	return s
}

// record returns the client's first record after the handshake, which crypto/tls would not write.
func (s *secured) record(t *testing.T, inner string) []byte {
	if suite := s.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Skipf("no AES in hardware, so that the cipher suite is %s", tls.CipherSuiteName(suite))
	}
	_, line, _ := strings.Cut(s.keys.String(), "CLIENT_TRAFFIC_SECRET_0 ")
	secret, err := hex.DecodeString(strings.Fields(line)[1])
	if err != nil {
		t.Fatal(err)
	}
	expand := func(label string, n int) []byte { // RFC 8446, 7.1
		label = "tls13 " + label
		out, err := hkdf.Expand(sha256.New, secret, string([]byte{0, byte(n), byte(len(label))})+label+"\x00", n)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	block, err := aes.NewCipher(expand("key", 16))
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	head := []byte{0x17, 3, 3, 0, byte(len(inner) + sealer.Overhead())}
	return sealer.Seal(head, expand("iv", 12), []byte(inner), head) // its number is 0
}

// A record without data leaves a client idle, which may stay so for IdleTimeout; half a record does
// not.
func TestRecordsWithoutData(t *testing.T) {
	for name, inner := range map[string]string{"new keys": "\x18\x00\x00\x01\x00\x16", "empty": "\x17"} {
		s := pairedOverTLS(t)
		l, c := s.loop, s.conn
		record := s.record(t, inner)
		c.phase = waiting // for another request
		for i := range record {
			l.now = l.now.Add(time.Second)
			s.send(record[i : i+1])
			c.happened(unix.EPOLLIN)
			want, patience := reading, l.server.options.ReadTimeout-time.Duration(i)*time.Second
			if i == len(record)-1 {
				want, patience = waiting, l.server.options.IdleTimeout
			}
			if left := c.deadline.Sub(l.now); c.phase != want || left != patience || c.dead {
				t.Fatalf("%s: after %d bytes of %d: phase %d with %v left, want %d with %v", name, i+1, len(record), c.phase, left, want, patience)
			}
		}
		c.abort()
		l.close()
	}
}

// Where records end does not depend on the pieces in which they are read.
func FuzzCut(f *testing.F) {
	f.Add([]byte("\x17\x03\x03\x00\x02ab\x17\x03\x03\x00\x00\x15"), uint8(1))
	f.Add([]byte("\x17\x03\x03\xff\xffab"), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		var whole, pieces cut
		whole.read(b)
		for part := range slices.Chunk(b, 1+int(piece)) {
			pieces.read(part)
		}
		rest := b
		for len(rest) >= 5 && len(rest) >= 5+int(rest[3])<<8+int(rest[4]) {
			rest = rest[5+int(rest[3])<<8+int(rest[4]):]
		}
		if whole.have != pieces.have || whole.left != pieces.left || whole.within() != (len(rest) > 0) {
			t.Errorf("%q: %+v, in pieces %+v, %d bytes are left", b, whole, pieces, len(rest))
		}
	})
}
