package lameduck

import (
	"crypto/tls"
	"sync/atomic"
)

// handshake is that of TLS over a Conn. While it is under way its client has a request to send, however quiet it is: a round
// trip, or a client's slow CPU, may take longer than a lull.
type handshake struct {
	of    atomic.Pointer[tls.Conn] // nil: no TLS
	asked bool                     // by Drain, which alone uses it, whether it is over
	over  atomic.Bool
}

// shakesHands reports whether a TLS handshake has begun and is not over. The server's time-out ends one that hangs.
func (c *Conn) shakesHands() bool {
	h := &c.handshake
	over := h.of.Load()
	if over == nil || c.reads.Load() == 0 || h.over.Load() {
		return false
	}
	if !h.asked {
		h.asked = true
		go func() { // until the handshake is over, or the connection closed
			over.ConnectionState() // waits for a handshake that is under way
			h.over.Store(true)
		}()
	}
	return true
}
