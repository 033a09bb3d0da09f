//go:build !unix

package socket

import "net"

type try struct{}

func newTry(net.Conn) *try { return nil }

func (*try) read([]byte) (int, error)  { return 0, ErrNoTry }
func (*try) write([]byte) (int, error) { return 0, ErrNoTry }
