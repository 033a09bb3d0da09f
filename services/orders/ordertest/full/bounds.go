package full

import (
	"net"
	"strings"
	"time"

	"dyno/services/orders/ordertest"
)

// boundsSlow: a client that sends a byte now and then, of a header or a body, is cut off, and other
// clients do not wait meanwhile.
func boundsSlow(c *ordertest.Client) {
	c.Env.Client = time.Second
	c.Run()
	me := c.Account(1)
	uid := c.One(me)
	const clients = 200
	slow := make([]*ordertest.Wire, clients)
	for i := range slow {
		slow[i] = c.Dial()
		head := "POST /api/v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + c.Ring.Token(me) + "\r\n"
		switch i % 3 {
		case 0:
			slow[i].Write(head + "X: ")
		case 1:
			slow[i].Write(head + "Content-Length: 1000\r\n\r\n{")
		case 2: // nothing at all until the first byte
		}
	}
	stop, dripped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(dripped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				for _, w := range slow {
					w.Write("x") // an error means that it was cut off, which is what is waited for
				}
			}
		}
	}()
	for range 50 {
		c.Order(me, uid)
	}
	for _, w := range slow {
		w.Ended()
	}
	close(stop)
	<-dripped
	c.Order(me, uid)
	if orders, audits := c.Count(me); orders != 1 || audits != 0 {
		c.T.Fatalf("%d orders, %d audit records", orders, audits)
	}
}

// boundsUnread: a client that asks and does not read the answers is cut off.
func boundsUnread(c *ordertest.Client) {
	c.Env.Client, c.Env.Timeout = time.Second, time.Second
	c.Run()
	me := c.Account(1)
	c.Insert(me, 500) // an answer has some 100 KB
	w := c.Dial()
	ask := "GET /api/v1/orders?limit=500 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + c.Ring.Token(me) + "\r\n\r\n"
	err := w.Write(strings.Repeat(ask, 32<<20/len(ask))) // more bytes than sockets hold
	if timeout, ok := err.(net.Error); err == nil || ok && timeout.Timeout() {
		c.T.Fatalf("the connection was open for %v: %v", ordertest.Patience, err)
	}
	c.Get(me, "/api/v1/orders")
}
