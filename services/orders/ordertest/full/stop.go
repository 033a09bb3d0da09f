package full

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"dyno/parts/lameduck/lameducktest"
	"dyno/parts/quicktest"
	"dyno/services/orders/ordertest"
)

// losesNone: a program that receives SIGTERM under load answers every request that it received,
// queries and submissions.
func losesNone(c *ordertest.Client) {
	c.Env.LameDuck = time.Second
	for i := range quicktest.Of(1, 4) {
		c := *c // each has a program of its own
		c.Run()
		me := c.Account(1)
		uid := c.One(me)
		lameducktest.Run(c.T, lameducktest.Program{
			Dial: func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(c.Program.URL, "http://")) },
			Request: func(connection, n int) string {
				if n%4 > 0 {
					return c.Ask(me, uid)
				}
				text := ordertest.MessageOf(fmt.Sprintf("stop-%d-%d-%d", i, connection, n), me).JSON()
				return fmt.Sprintf("POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nAuthorization: Bearer %s\r\n\r\n%s",
					len(text), c.Ring.Token(me), text)
			},
			Good:   func(r *http.Response) bool { return r.StatusCode <= http.StatusCreated }, // or 200
			Ready:  lameducktest.Readyz(c.Program.Debug),
			Window: c.Env.LameDuck,
			Stop:   c.Stop,
		})
	}
}
