package rippled

import (
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// Counts is how requests went, since Open. What divides Reused by Reused and Connections is the share of requests
// that found a connection; over HTTP/2 and WebSocket several share one at the same time.
type Counts struct {
	Requests    uint64 // sent or tried to
	Connections uint64 // made
	Reused      uint64 // requests that found a connection, over HTTP
	HTTP1       uint64 // answers over HTTP/1.1
	HTTP2       uint64 // answers over HTTP/2
	WebSocket   uint64 // answers over WebSocket
	TLS12       uint64 // answers over TLS 1.2
	TLS13       uint64 // answers over TLS 1.3
}

type counters struct {
	requests, connections, reused, http1, http2, webSocket, tls12, tls13 atomic.Uint64
}

// Counts is a snapshot.
func (s *Server) Counts() Counts {
	c := &s.counts
	return Counts{
		Requests: c.requests.Load(), Connections: c.connections.Load(), Reused: c.reused.Load(),
		HTTP1: c.http1.Load(), HTTP2: c.http2.Load(), WebSocket: c.webSocket.Load(),
		TLS12: c.tls12.Load(), TLS13: c.tls13.Load(),
	}
}

func (c *counters) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if i.Reused {
			c.reused.Add(1)
		} else {
			c.connections.Add(1)
		}
	}}
}

func (c *counters) answered(a *http.Response) {
	if a.ProtoMajor == 2 {
		c.http2.Add(1)
	} else {
		c.http1.Add(1)
	}
	c.encrypted(a.TLS)
}

func (c *counters) encrypted(s *tls.ConnectionState) {
	switch {
	case s == nil:
	case s.Version == tls.VersionTLS13:
		c.tls13.Add(1)
	default:
		c.tls12.Add(1)
	}
}
