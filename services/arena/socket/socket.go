// Package socket is arenad's server side of WebSocket (RFC 6455): Accept takes a connection from
// net/http, Read returns its messages, and Write and TryWrite write frames that Append made,
// several in one system call.
//
// It has two implementations, neither of which compresses. Coder is that of
// github.com/coder/websocket, as on the first day: one message in one write, which waits for the
// kernel. Frames is our own. github.com/lxzan/gws, the fastest library that we found, was tried
// first: it does not say how much of a write the kernel took, so that a server cannot write without
// waiting, and one frame that claims 2^63 bytes ends its process (v1.8.9).
//
// It is not for what messages mean, for texts (their connection ends with 1003),
// nor for clients. One goroutine reads a Socket, and any one at a time writes. It starts no
// goroutines but those of Coder's pings, for which Close waits.
package socket

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// MaxMessage is the size of a client's message at most, in bytes.
const MaxMessage = 4096

// Codes of a close, of RFC 6455.
const (
	Normal      = 1000
	GoingAway   = 1001
	Protocol    = 1002
	Unsupported = 1003
	noCode      = 1005 // stands for a close frame without a code
	BadText     = 1007
	Policy      = 1008
	TooBig      = 1009
)

// Closed is the error of a Read after which the connection ends: the client closed it, or broke the
// protocol. Code is what the close frame says to the client; 0: it says none.
type Closed struct {
	Code   int
	Reason string
	Client bool // the client closed it
}

func (e *Closed) Error() string {
	if e.Client {
		return "the client closed the WebSocket"
	}
	return fmt.Sprintf("the WebSocket ends with %d: %s", e.Code, e.Reason)
}

// ErrNoTry is returned by TryWrite and Poll where they would wait: use Write and Read.
var ErrNoTry = errors.New("this connection has no reads and writes that do not wait")

// Socket is a WebSocket.
type Socket interface {
	Subprotocol() string // "": none was offered that the server speaks

	// Read returns the next binary message, which is valid until the next call. It answers pings
	// through the Control of Options.
	Read() ([]byte, error)
	// SetReadDeadline may be called from any goroutine, also while Read waits.
	SetReadDeadline(at time.Time)

	// Poll reads what has come, up to the length of buf, without waiting, and calls take for each
	// message in it. Once it was called, Read must not be.
	Poll(buf []byte, take func(message []byte) error) error

	// Write writes whole frames (Append), or returns an error when they are not with the kernel in
	// time. Ends are the offsets of their ends.
	Write(frames []byte, ends []int, timeout time.Duration) error
	// TryWrite writes what the kernel takes now, and returns its length.
	TryWrite(frames []byte) (int, error)

	// Ping returns the frame that asks whether the client is there, which the caller writes; nil: the
	// socket has asked itself. The answer goes to the Control of Options.
	Ping() []byte

	// Close ends the connection with a code and a reason, and waits a moment for the client's
	// close. Code 0 closes it without a word.
	Close(code int, reason string)
	// CloseNow ends it without waiting; Read returns an error.
	CloseNow()
}

// Options are of Accept.
type Options struct {
	Subprotocols []string // that the server speaks, the best first
	SendBuffer   int      // of the kernel, in bytes; 0: as it is
	// Control is called by Read and Poll for a ping of the client, with the frame that must answer
	// it, if the socket has not, and with nil for a pong. They return its error, if they can.
	Control func(pong []byte) error
}

// Accept answers a handshake; an error has been answered, too.
type Accept func(w http.ResponseWriter, r *http.Request, o Options) (Socket, error)
