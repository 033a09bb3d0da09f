//go:build unix

// Package flood opens more idle connections at the doors of a program than it may have files, and
// checks that the program still serves. It is for tests of services as processes; it owns no
// goroutines.
package flood

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"dyno/parts/process"
	"dyno/parts/process/processtest"
	"dyno/parts/servicetest"
)

// Files is RLIMIT_NOFILE of a program that Start starts.
const Files = 120

// idle is the connections at each door.
const idle = 2 * Files

// Start starts a program that prints a ready line, with few files, and stops it with the test.
func Start(t testing.TB, command ...string) *process.Process {
	t.Helper()
	limited := append([]string{"sh", "-c", "ulimit -n " + strconv.Itoa(Files) + ` && exec "$@"`, "sh"}, command...)
	p, err := process.Start(context.WithoutCancel(t.Context()), process.Spec{Command: limited, ReadyLine: true, ReadyTimeout: servicetest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { processtest.Stop(t, p) })
	return p
}

// Doors floods each door of a program alone, and then all. Work is a request to the public address
// that needs files, over a client's connection that stays; door "" is the public one. While other
// doors are flooded, new clients are served, too.
func Doors(t *testing.T, p *process.Process, work func(*testing.T, *http.Client), private ...string) {
	t.Helper()
	kept := newClient(t)
	work(t, kept)
	public := p.Ready()["listen"]
	for _, door := range private {
		t.Run("at "+door, func(t *testing.T) {
			defer Open(t, door)()
			for range 20 {
				work(t, newClient(t))
			}
		})
	}
	t.Run("at all", func(t *testing.T) {
		for _, door := range append(private, public) {
			defer Open(t, door)()
		}
		for range 50 {
			work(t, kept)
		}
		refused(t, public)
	})
	servicetest.Await(t, func() string { return "an answer to a new client after the flood" }, func() bool {
		resp, err := newClient(t).Get("http://" + public + "/")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode != http.StatusServiceUnavailable
	})
	if said := p.LogTail(1 << 20); strings.Count(said, "connections cannot be accepted") > 2 || strings.Count(said, "connections are refused") > 2*(1+len(private)) {
		t.Errorf("it says more than a line a minute for each door:\n%s", said)
	}
}

func newClient(t testing.TB) *http.Client {
	c := &http.Client{Transport: &http.Transport{}, Timeout: servicetest.Patience}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// Open opens idle connections, each with the beginning of a request, and returns what closes them.
func Open(t testing.TB, address string) (end func()) {
	t.Helper()
	var conns []net.Conn
	for range idle {
		c, err := net.DialTimeout("tcp", address, servicetest.Patience)
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\n")) // an error says that it was refused
		conns = append(conns, c)
	}
	return func() {
		for _, c := range conns {
			c.Close()
		}
	}
}

// refused checks that a new client of a full door is answered 503.
func refused(t testing.TB, address string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, servicetest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(servicetest.Patience))
	answer := make([]byte, len("HTTP/1.1 503"))
	if n, err := c.Read(answer); n > 0 && string(answer[:n]) != "HTTP/1.1 503" {
		t.Errorf("a full door answers %q, %v", answer[:n], err)
	}
}
