// Package websocket is a WebSocket client (RFC 6455) whose cost suits a load generator: many
// frames go out in one write, and receiving a message allocates nothing. The client requests no
// extensions, so that the target spends no time on compression.
//
// It is not for servers, and it does not reconnect. A Conn has no goroutine of its own.
package websocket

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Opcodes of frames.
const (
	opContinue = 0x0
	opText     = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xa
)

const (
	final   = 0x80 // bit of the first byte: the message's last frame
	rsv     = 0x70 // reserved bits of the first byte; no extension gives them a meaning
	masked  = 0x80 // bit of the second byte
	control = 0x8  // bit of an opcode
	// maxControl is the length of a control frame's payload, in bytes.
	maxControl = 125
	// maxHandshake bounds the server's answer to the handshake. maxQueued bounds the frames that
	// wait for a server which does not read. Both in bytes.
	maxHandshake = 64 << 10
	maxQueued    = 256 << 20
)

// Errors that end a Conn.
var (
	ErrProtocol = errors.New("the server broke the WebSocket protocol")
	ErrTooLong  = errors.New("a message is longer than permitted")
)

// CloseError is the error of a Conn that the server ended with a close frame.
type CloseError struct {
	Code   uint16 // 1005: the frame has none
	Reason string
}

func (e *CloseError) Error() string {
	return fmt.Sprintf("the server closed the WebSocket: %d %s", e.Code, e.Reason)
}

// Conn is an open WebSocket. One goroutine receives, one writes, and any may queue messages.
type Conn struct {
	Subprotocol string // the one that the server chose from those in the header; "": none

	net     net.Conn
	in      *bufio.Reader
	message []byte
	longest int
	bytesIn int64
	direct  bool
	most    int // bytes that may wait in out

	mu     sync.Mutex
	out    []byte        // frames that are not yet written; guarded by mu
	queued chan struct{} // out is not empty
}

// Dial opens a WebSocket to a URL (ws or wss); it returns after the handshake. longest bounds a
// received message in bytes. ctx bounds the handshake only. secure may be nil.
func Dial(ctx context.Context, u *url.URL, header http.Header, secure *tls.Config, longest int) (*Conn, error) {
	conn, err := dial(ctx, u, secure)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	from := &io.LimitedReader{R: conn, N: maxHandshake}
	c := &Conn{net: conn, in: bufio.NewReaderSize(from, 32<<10), longest: longest, most: maxQueued, queued: make(chan struct{}, 1)}
	err = c.handshake(u, header)
	from.N = math.MaxInt64
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func dial(ctx context.Context, u *url.URL, secure *tls.Config) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "wss" {
		return (&tls.Dialer{Config: secure}).DialContext(ctx, "tcp", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// acceptKey is the GUID that RFC 6455, section 1.3, prescribes for Sec-WebSocket-Accept.
const acceptKey = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

func (c *Conn) handshake(u *url.URL, header http.Header) error {
	var nonce [16]byte
	rand.Read(nonce[:])
	key := base64.StdEncoding.EncodeToString(nonce[:])
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: u.Host, Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}, Host: u.Host, Header: http.Header{}}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Upgrade", "websocket")
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Sec-WebSocket-Version", "13")
	r.Header.Set("Sec-WebSocket-Key", key)
	if err := r.Write(c.net); err != nil {
		return err
	}
	answer, err := http.ReadResponse(c.in, r)
	if err != nil {
		return fmt.Errorf("WebSocket handshake with %s: %w", u.Host, err)
	}
	sum := sha1.Sum([]byte(key + acceptKey))
	switch {
	case answer.StatusCode != http.StatusSwitchingProtocols:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 200))
		return fmt.Errorf("WebSocket handshake: %s answered %s: %s", u.Host, answer.Status, strings.TrimSpace(string(text)))
	case answer.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]), answer.Header.Get("Sec-WebSocket-Extensions") != "":
		return fmt.Errorf("WebSocket handshake with %s: %w", u.Host, ErrProtocol)
	}
	c.Subprotocol = answer.Header.Get("Sec-WebSocket-Protocol")
	return nil
}

// Close closes the connection, which ends Receive and Write. It skips the closing handshake,
// which servers do not need.
func (c *Conn) Close() error { return c.net.Close() }

// Queue appends a text message to the frames that Write writes next. If more than 256 MiB wait,
// the server has stopped reading, and Queue closes the connection.
func (c *Conn) Queue(message []byte) { c.queue(opText, message) }

// QueueBinary is Queue for a binary message.
func (c *Conn) QueueBinary(message []byte) { c.queue(opBinary, message) }

// BytesIn returns the number of bytes in all frames that Receive has read, headers and control
// frames included.
func (c *Conn) BytesIn() int64 { return c.bytesIn }

// Direct makes the goroutine that queues a message, or an answer to a ping, write it itself;
// Write must then not be used. This saves waking a goroutine for each message. A write that
// blocks for a second closes the connection: the server has stopped reading.
func (c *Conn) Direct() { c.direct = true }

// blocked bounds a direct write.
const blocked = time.Second

// writeNow writes a frame. The caller holds mu.
func (c *Conn) writeNow(op byte, payload []byte) {
	c.out = appendFrame(c.out[:0], op, payload)
	err := c.net.SetWriteDeadline(time.Now().Add(blocked))
	if err == nil {
		_, err = c.net.Write(c.out)
	}
	if err != nil {
		c.net.Close()
	}
}

func (c *Conn) queue(op byte, payload []byte) {
	c.mu.Lock()
	if c.direct {
		c.writeNow(op, payload)
		c.mu.Unlock()
		return
	}
	if len(c.out) > c.most {
		c.net.Close()
	} else {
		c.out = appendFrame(c.out, op, payload)
	}
	c.mu.Unlock()
	select {
	case c.queued <- struct{}{}:
	default: // Write has not yet taken the frames queued before
	}
}

// Flush writes what is queued. It must not be called while Write is in use.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.net.Write(c.out)
	c.out = c.out[:0]
	return err
}

// Write writes the queued frames, as many as there are in one system call, until ctx is done or
// the connection fails. It then closes the connection, which also ends Receive. Only one
// goroutine may call it.
func (c *Conn) Write(ctx context.Context) error {
	defer c.net.Close()
	defer context.AfterFunc(ctx, func() { c.net.Close() })() // unblocks a blocked write
	var frames []byte
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.queued:
		}
		c.mu.Lock()
		frames, c.out = c.out, frames[:0]
		c.mu.Unlock()
		if len(frames) == 0 {
			continue
		}
		if _, err := c.net.Write(frames); err != nil {
			return err
		}
	}
}

// appendFrame appends a client's frame, which is masked.
func appendFrame(out []byte, op byte, payload []byte) []byte {
	out = append(out, final|op)
	switch n := len(payload); {
	case n <= maxControl:
		out = append(out, masked|byte(n))
	case n <= 0xffff:
		out = binary.BigEndian.AppendUint16(append(out, masked|126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, masked|127), uint64(n))
	}
	key := mathrand.Uint32()
	out = binary.LittleEndian.AppendUint32(out, key)
	at := len(out)
	out = append(out, payload...)
	mask(out[at:], key)
	return out
}

// mask applies a masking key whose first byte is its lowest.
func mask(b []byte, key uint32) {
	wide := uint64(key)<<32 | uint64(key)
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= byte(key >> (8 * (i % 4)))
	}
}

// Receive returns the next message, text or binary, which is valid until the next call. It
// answers pings. After an error the Conn must not be used.
func (c *Conn) Receive() ([]byte, error) {
	c.message = c.message[:0]
	for began := false; ; {
		op, last, err := c.frame(began)
		switch {
		case err != nil:
			return nil, err
		case op&control != 0:
		case last:
			return c.message, nil
		default:
			began = true
		}
	}
}

// frame reads one frame. It appends a data frame to the message, whose first frame was read
// before if began is true, and handles a control frame.
func (c *Conn) frame(began bool) (op byte, last bool, err error) {
	head, err := c.take(2)
	if err != nil {
		return 0, false, err
	}
	op, last = head[0]&0xf, head[0]&final != 0
	length, short := uint64(head[1]), head[1]
	if head[0]&rsv != 0 || short&masked != 0 {
		return 0, false, ErrProtocol
	}
	switch short {
	case 126:
		if head, err = c.take(2); err == nil {
			length = uint64(binary.BigEndian.Uint16(head))
		}
	case 127:
		if head, err = c.take(8); err == nil {
			length = binary.BigEndian.Uint64(head)
		}
	}
	if err != nil {
		return 0, false, err
	}
	switch {
	case op&control != 0:
		return op, last, c.controlFrame(op, last, length)
	case op > opBinary, began != (op == opContinue):
		return 0, false, ErrProtocol
	case length > uint64(c.longest-len(c.message)):
		return 0, false, ErrTooLong
	}
	at := len(c.message)
	c.message = slices.Grow(c.message, int(length))[:at+int(length)]
	read, err := io.ReadFull(c.in, c.message[at:])
	c.bytesIn += int64(read)
	return op, last, err
}

// take reads n bytes: a frame's header, or the payload of a control frame.
func (c *Conn) take(n int) ([]byte, error) {
	b, err := c.in.Peek(n)
	if err != nil {
		if len(b) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	c.in.Discard(n)
	c.bytesIn += int64(n)
	return b, nil
}

// controlFrame reads the payload of a control frame and handles it.
func (c *Conn) controlFrame(op byte, last bool, length uint64) error {
	if !last || length > maxControl || op > opPong {
		return ErrProtocol
	}
	payload, err := c.take(int(length))
	if err != nil {
		return err
	}
	switch op {
	case opClose:
		closed := &CloseError{Code: 1005}
		if len(payload) >= 2 {
			closed.Code, closed.Reason = binary.BigEndian.Uint16(payload), string(payload[2:])
		}
		return closed
	case opPing:
		c.queue(opPong, payload)
	}
	return nil
}
