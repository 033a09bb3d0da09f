package host

import (
	"context"
	"fmt"
	"io/fs"

	"dyno/lab/probe/procfs"
)

const (
	// roomyBacklog is a listen backlog for 20 ms of arrivals at 50,000 connections per second.
	roomyBacklog = 1024
	// roomyPorts is less than the 28,232 ports of the default range of Linux.
	roomyPorts = 20_000
	// roomyFiles suffices for both ends of 10,000 connections in one process.
	roomyFiles = 20_000
	// fewFiles barely suffices for a load of some hundred connections and the service under it.
	fewFiles = 1024
)

func somaxconn(_ context.Context, h *host) Check {
	const means = "a burst of connections beyond the backlog is dropped and comes again a second later"
	n, err := h.number("proc/sys/net/core/somaxconn")
	if err != nil {
		return unread(err, means)
	}
	if n < roomyBacklog {
		return Check{Status: Warn, Value: fmt.Sprint(n), Means: means, Fix: "sysctl -w net.core.somaxconn=4096"}
	}
	return Check{Status: OK, Value: fmt.Sprint(n), Means: "a burst of connections waits in the backlog"}
}

// ports returns the number of ports that outgoing connections may use.
func (h *host) ports() (int64, error) {
	b, err := fs.ReadFile(h.files, "proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, err
	}
	low, high, err := procfs.Range(b)
	return high - low + 1, err
}

func ephemeralPorts(_ context.Context, h *host) Check {
	const means = "each new connection takes a port for a minute: more than that per minute to one address, and connecting fails"
	n, err := h.ports()
	if err != nil {
		return unread(err, means)
	}
	if n < roomyPorts {
		return Check{Status: Warn, Value: fmt.Sprint(n), Means: means, Fix: "sysctl -w net.ipv4.ip_local_port_range='10000 65000'"}
	}
	return Check{Status: OK, Value: fmt.Sprint(n), Means: "enough for loads that keep their connections"}
}

func timeWait(_ context.Context, h *host) Check {
	const means = "closed connections hold their ports for a minute; near the number of ports, connecting slows down and then fails"
	b, err := fs.ReadFile(h.files, "proc/net/sockstat")
	if err != nil {
		return unread(err, means)
	}
	n, err := procfs.TimeWait(b)
	if err != nil {
		return unread(err, means)
	}
	ports, err := h.ports()
	if err != nil {
		return unread(err, means)
	}
	c := Check{Status: OK, Value: fmt.Sprintf("%d of %d ports", n, ports), Means: "few closed connections still hold a port"}
	switch share := float64(n) / float64(ports); {
	case share > 0.5:
		c.Status, c.Means = Bad, means
	case share > 0.1:
		c.Status, c.Means = Warn, means
	}
	if c.Status != OK {
		c.Fix = "wait a minute; keep connections open between requests"
	}
	return c
}

func openFiles(_ context.Context, h *host) Check {
	const means = "each connection is an open file on either side: past the limit, connecting fails"
	n, err := h.openFiles()
	if err != nil {
		return unread(err, means)
	}
	c := Check{Status: OK, Value: fmt.Sprint(n), Means: "enough for some thousand connections"}
	switch {
	case n < fewFiles:
		c.Status = Bad
	case n < roomyFiles:
		c.Status = Warn
	}
	if c.Status != OK {
		c.Means, c.Fix = means, "ulimit -n 65536, or LimitNOFILE= in the unit"
	}
	return c
}
