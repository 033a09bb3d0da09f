package servers

import (
	"crypto/tls"
	"maps"
	"net/http/httptrace"
	"sync"
)

// Counts counts connections since Open.
type Counts struct {
	Connections map[Link]uint64 // connections made, by kind
	// Reused is the number of HTTP requests that used an open connection. Over WebSocket, all
	// requests but the first do, uncounted.
	Reused uint64
}

// Link is a kind of connection.
type Link struct {
	Protocol string // HTTP/1.1, HTTP/2 or WebSocket
	TLS      string // as crypto/tls names its versions, such as TLS 1.3; "none"
}

type counters struct {
	mu sync.Mutex
	Counts
}

// Counts returns a snapshot.
func (s *Server) Counts() Counts {
	c := &s.counts
	c.mu.Lock()
	defer c.mu.Unlock()
	return Counts{Connections: maps.Clone(c.Connections), Reused: c.Reused}
}

func (c *counters) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if i.Reused {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.Reused++
			return
		}
		var state *tls.ConnectionState
		if conn, ok := i.Conn.(*tls.Conn); ok {
			is := conn.ConnectionState()
			state = &is
		}
		protocol := "HTTP/1.1"
		if state != nil && state.NegotiatedProtocol == "h2" {
			protocol = "HTTP/2"
		}
		c.made(protocol, state)
	}}
}

// made counts a connection; state is nil without TLS.
func (c *counters) made(protocol string, state *tls.ConnectionState) {
	l := Link{protocol, "none"}
	if state != nil {
		l.TLS = tls.VersionName(state.Version)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Connections == nil {
		c.Connections = map[Link]uint64{}
	}
	c.Connections[l]++
}
