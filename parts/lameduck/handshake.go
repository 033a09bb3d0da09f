package lameduck

import (
	"crypto/tls"
	"sync/atomic"
)

// handshake is a TLS handshake over a Conn. While it is in progress its client has a request to
// send, even if it is silent: a round trip, or a slow client's CPU, may take longer than a lull.
type handshake struct {
	of    atomic.Pointer[tls.Conn] // nil means no TLS
	asked bool                     // Drain, the only user, has asked whether it is over
	over  atomic.Bool
}

// shakesHands reports whether a TLS handshake is in progress. The server's timeout ends one that
// hangs.
func (c *Conn) shakesHands() bool {
	h := &c.handshake
	over := h.of.Load()
	if over == nil || c.reads.Load() == 0 || h.over.Load() {
		return false
	}
	if !h.asked {
		h.asked = true
		go func() { // until the handshake is over or the connection is closed
			over.ConnectionState() // waits for a handshake in progress
			h.over.Store(true)
		}()
	}
	return true
}
