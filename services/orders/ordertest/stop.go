package ordertest

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"dyno/parts/lameduck/lameducktest"
	"dyno/parts/quicktest"
)

// losesNone: a program that receives SIGTERM under load answers every request that it received,
// queries and submissions.
func losesNone(c *client) {
	c.env.LameDuck = time.Second
	for i := range quicktest.Of(1, 4) {
		c := *c // each has a program of its own
		c.run()
		me := c.account(1)
		uid := c.one(me)
		lameducktest.Run(c.t, lameducktest.Program{
			Dial: func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(c.program.URL, "http://")) },
			Request: func(connection, n int) string {
				if n%4 > 0 {
					return c.ask(me, uid)
				}
				text := messageOf(fmt.Sprintf("stop-%d-%d-%d", i, connection, n), me).json()
				return fmt.Sprintf("POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nAuthorization: Bearer %s\r\n\r\n%s",
					len(text), c.ring.token(me), text)
			},
			Good:   func(r *http.Response) bool { return r.StatusCode <= http.StatusCreated }, // or 200
			Ready:  lameducktest.Readyz(c.program.Debug),
			Window: c.env.LameDuck,
			Stop:   c.stop,
		})
	}
}

// refusesTwoLengths: what is not sure to end where it says is no request.
func refusesTwoLengths(c *client) {
	lameducktest.Framing(c.t, "/", func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(c.program.URL, "http://")) })
}
