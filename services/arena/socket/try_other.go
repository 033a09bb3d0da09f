//go:build !unix

package socket

import (
	"net"
	"time"
)

type try struct{}

func newTry(net.Conn) *try { return nil }

func (*try) detach()                   {}
func (*try) attach() *net.TCPConn      { return nil }
func (*try) close()                    {}
func (*try) deadline(time.Time)        {}
func (*try) read([]byte) (int, error)  { return 0, ErrNoTry }
func (*try) write([]byte) (int, error) { return 0, ErrNoTry }
