package main

import (
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"dyno/subjects/bounds/suite"
)

var gate = suite.Entry{
	Name: "accept", Family: "wait", Truth: "wait", Kind: "accept", Function: "main.(*doorman).Accept",
	InWords: "each request needs a new connection, and connections are accepted one after the other, some ms apart, from a short queue",
	Method:  "GET", Path: "/hello", Invisible: nil,
	Plan: func(d *suite.Draw) func() (*suite.Service, error) {
		check, backlog := d.Micros("accept_us", 2_000, 6_000), d.Between("backlog", 8, 64)
		return func() (*suite.Service, error) {
			s := suite.Serving("GET /hello", hello)
			s.Accept = func(l net.Listener) net.Listener { return newDoorman(l, check, backlog) }
			return s, nil
		}
	},
}

func hello(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	fmt.Fprintln(w, "hello")
}

// doorman checks each connection before it accepts it, which takes some time.
type doorman struct {
	net.Listener
	check time.Duration
}

// newDoorman shortens the queue of connections that wait to be accepted. Where that is not possible
// it keeps the length it has.
func newDoorman(l net.Listener, check time.Duration, backlog int) *doorman {
	if tcp, ok := l.(*net.TCPListener); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { syscall.Listen(int(fd), backlog) }) // again, only to set its length
		}
	}
	return &doorman{l, check}
}

func (d *doorman) Accept() (net.Conn, error) {
	time.Sleep(d.check)
	return d.Listener.Accept()
}
