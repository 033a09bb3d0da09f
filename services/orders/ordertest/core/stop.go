package core

import (
	"net"
	"strings"

	"dyno/parts/lameduck/lameducktest"
	"dyno/services/orders/ordertest"
)

// refusesTwoLengths: what is not sure to end where it says is no request.
func refusesTwoLengths(c *ordertest.Client) {
	lameducktest.Framing(c.T, "/", func() (net.Conn, error) { return net.Dial("tcp", strings.TrimPrefix(c.Program.URL, "http://")) })
}
