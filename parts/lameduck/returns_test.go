package lameduck

import (
	"io"
	"net"
	"testing"
)

// origin counts what happens to a connection.
type origin struct {
	full                 bool
	reserve              func()
	reserved, took, left int
}

func (o *origin) Reserve() bool {
	o.reserved++
	if o.reserve != nil {
		o.reserve()
	}
	return !o.full
}
func (o *origin) Take() { o.took++ }
func (o *origin) Drop() { o.left++ }

// handedOver returns a connection with a request behind it.
func handedOver(t *testing.T, o *origin) (c *Conn, gone *int) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := l.TCP().Accept()
	if err != nil {
		t.Fatal(err)
	}
	gone = new(int)
	c = l.add(Handed{TCPConn: tcp.(*net.TCPConn), Gone: func() { *gone++ }, Origin: o, Stay: 1})
	c.framing = &framing{}
	c.framing.read([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	c.framing.served = 1
	t.Cleanup(func() { client.Close(); tcp.Close(); l.Close() })
	return c, gone
}

func TestReturnsOnce(t *testing.T) {
	o := &origin{}
	c, gone := handedOver(t, o)
	for range 2 {
		if n, err := c.Read(make([]byte, 9)); n != 0 || err != io.EOF {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if err := c.Close(); err != nil || o.took != 1 || o.left != 0 || *gone != 0 {
		t.Errorf("taken %d times, dropped %d, gone %d, %v", o.took, o.left, *gone, err)
	}
}

func TestStays(t *testing.T) {
	for name, change := range map[string]func(*Conn, *origin){
		"a request is in progress":       func(c *Conn, _ *origin) { c.Begin() },
		"it has not had enough requests": func(c *Conn, _ *origin) { c.stay = 2 },
		"bytes are unread":               func(c *Conn, _ *origin) { c.unread = []byte("\n") },
		"a part of a request is read":    func(c *Conn, _ *origin) { c.framing.read([]byte("G")) },
		"a request was not served":       func(c *Conn, _ *origin) { c.framing.served = 0; c.stay = 0 },
		"the server ends":                func(c *Conn, _ *origin) { c.owner.LameDuck() },
		"there is no room":               func(_ *Conn, o *origin) { o.full = true },
		"it was closed":                  func(c *Conn, _ *origin) { c.Close() },
		"it is closed meanwhile":         func(c *Conn, o *origin) { o.reserve = func() { c.Close() } },
	} {
		t.Run(name, func(t *testing.T) {
			o := &origin{}
			c, gone := handedOver(t, o)
			change(c, o)
			if c.returns(c.framing) || o.took != 0 {
				t.Error("it returned")
			}
			reserved := o.reserved
			if o.full {
				reserved-- // there was nothing to drop
			}
			if o.left != reserved {
				t.Errorf("%d reservations, %d dropped", o.reserved, o.left)
			}
			if c.Close(); *gone != 1 {
				t.Errorf("gone %d times", *gone)
			}
		})
	}
}
