//go:build !linux

package main

import (
	"errors"
	"net/netip"
)

func serve(netip.AddrPort, func(netip.AddrPort)) error {
	return errors.New("this server is built on epoll and runs on Linux only")
}
