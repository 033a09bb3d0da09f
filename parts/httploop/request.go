package httploop

import (
	"net/netip"

	"dyno/parts/httploop/wire"
)

// Request is a request and its response. Its strings and bytes from the client are views of the
// connection's buffer, valid until Done: a service that keeps any of them makes a copy.
type Request struct {
	wire.Head
	Body []byte

	Response wire.Response

	// Released is called on the loop's goroutine when Response.Body is not used any more: it was sent,
	// or its connection has ended. Nil means nothing. It must not block.
	Released func()

	// Data belongs to the service. It stays with the Request when the server reuses it.
	Data any

	conn *conn
	next *Request // the following request of the same connection

	answered bool // Done was called, and the loop has noticed
}

// Remote returns the client's address; the zero AddrPort if it has none.
func (r *Request) Remote() netip.AddrPort { return r.conn.remote }

// Done completes requests: the server sends their responses, in the order of the requests on each
// connection. Any goroutine may call it. Afterwards the requests belong to the server again.
func Done(requests ...*Request) {
	for i := 0; i < len(requests); {
		l, from := requests[i].conn.loop, i
		for i < len(requests) && requests[i].conn.loop == l {
			i++
		}
		l.complete(requests[from:i])
	}
}

// maxKept limits the memory that a request keeps for the next one, in bytes.
const maxKept = 16 << 10

// reset clears everything except memory and Data.
func (r *Request) reset() {
	fields, resp, data := r.Fields, r.Response, r.Data
	clear(fields) // they refer to the connection's buffer
	resp.Reset()
	if cap(resp.Body) > maxKept || cap(resp.Fields) > maxKept {
		resp = wire.Response{}
	}
	*r = Request{Head: wire.Head{Fields: fields[:0]}, Response: resp, Data: data}
}
