//go:build !linux

package httploop

import (
	"net"
	"net/netip"
)

const supported = false

// loop and conn exist only on Linux.
type (
	loop struct{}
	conn struct {
		loop   *loop
		remote netip.AddrPort
	}
)

func (s *Server) open(net.Listener) ([]*loop, error) { return nil, ErrUnsupported }

func (l *loop) run() error          { return ErrUnsupported }
func (l *loop) post(func()) bool    { return false }
func (l *loop) drain()              {}
func (l *loop) cutOff() int         { return 0 }
func (l *loop) complete([]*Request) {}
