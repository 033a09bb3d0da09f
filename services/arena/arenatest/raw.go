package arenatest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"dyno/parts/servicetest"
	"dyno/services/arena/wire"
)

// The opcodes of RFC 6455.
const (
	Continuation = 0
	Text         = 1
	Binary       = 2
	Close        = 8
	Ping         = 9
	Pong         = 10
)

// Final is the bit of a frame's first byte that ends a message.
const Final = 0x80

// Raw is a WebSocket whose frames are made by hand.
type Raw struct {
	c    *Client
	conn net.Conn
	from *bufio.Reader
}

// Raw opens a connection and joins a room, as a spectator of a new one.
func (c *Client) Raw() *Raw {
	c.T.Helper()
	r := c.Open()
	r.Send(&wire.ClientFrame{Body: &wire.ClientFrame_Join{Join: &wire.Join{Room: c.Room(`{}`), Spectate: true}}})
	return r
}

// Send sends a message.
func (r *Raw) Send(f *wire.ClientFrame) {
	r.c.T.Helper()
	message, err := proto.Marshal(f)
	if err != nil {
		r.c.T.Fatal(err)
	}
	r.Write(Frame(Final|Binary, message))
}

// Open opens a connection.
func (c *Client) Open() *Raw {
	c.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.Program.URL, "http://"))
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(servicetest.Patience))
	r := &Raw{c: c, conn: conn, from: bufio.NewReader(conn)}
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: %s\r\n\r\n", wire.Proto)
	resp, err := http.ReadResponse(r.from, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		c.T.Fatalf("the handshake: %v, %v", resp, err)
	}
	return r
}

// Reset resets the connection, as one that has lost its network.
func (r *Raw) Reset() {
	r.conn.(*net.TCPConn).SetLinger(0)
	r.conn.Close()
}

// End ends what the client sends; it still receives.
func (r *Raw) End() { r.conn.(*net.TCPConn).CloseWrite() }

// Frame is a masked frame of a payload below 64 KiB.
func Frame(first byte, payload []byte) []byte {
	out := []byte{first}
	if n := len(payload); n < 126 {
		out = append(out, 0x80|byte(n))
	} else {
		out = binary.BigEndian.AppendUint16(append(out, 0x80|126), uint16(n))
	}
	mask := [4]byte{1, 2, 3, 4}
	out = append(out, mask[:]...)
	for i, b := range payload {
		out = append(out, b^mask[i%4])
	}
	return out
}

// Write sends bytes. The server may have ended the connection before it read all of them.
func (r *Raw) Write(text []byte) { r.conn.Write(text) }

// Read returns the next frame; an error at the end of the connection.
func (r *Raw) Read() (opcode byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return 0, nil, err
	}
	size := uint64(head[1] & 0x7f)
	more := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
	if _, err := io.ReadFull(r.from, more); err != nil {
		return 0, nil, err
	}
	if len(more) > 0 {
		size = 0
		for _, b := range more {
			size = size<<8 | uint64(b)
		}
	}
	if size > 1<<20 || head[1]&0x80 != 0 {
		return 0, nil, fmt.Errorf("a frame of %d bytes, first bytes %x", size, head)
	}
	payload = make([]byte, size)
	_, err = io.ReadFull(r.from, payload)
	return head[0] & 0x0f, payload, err
}

// Find returns the payload of the next frame with an opcode; nil: the connection ended before.
func (r *Raw) Find(opcode byte) []byte {
	for {
		got, payload, err := r.Read()
		if err != nil {
			return nil
		}
		if got == opcode {
			return payload
		}
	}
}

// CloseCode reads to the end of the connection and returns the code of its Close frame; 0: there
// was none, or none with a code.
func (r *Raw) CloseCode() int {
	code := 0
	for {
		opcode, payload, err := r.Read()
		if err != nil {
			return code
		}
		if opcode == Close && len(payload) >= 2 {
			code = int(binary.BigEndian.Uint16(payload))
			r.Write(Frame(Final|Close, payload[:2]))
		}
	}
}
