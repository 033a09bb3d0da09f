package probe

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"dyno/lab/record"
)

const (
	fieldRemote    = 2
	establishedHex = "01" // TCP_ESTABLISHED
	// maxPeers bounds the processes that count as companions because the target calls them.
	maxPeers = 32
)

// tcpSocket is a line of /proc/net/tcp or tcp6.
type tcpSocket struct {
	local, remote netip.AddrPort
	state         string
	inode         uint64
}

// tcpSockets parses a table. It skips invalid lines.
func tcpSockets(table []byte) (out []tcpSocket) {
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) <= fieldInode {
			continue
		}
		s := tcpSocket{state: f[fieldState]}
		var here, there bool
		var err error
		s.local, here = tableAddress(f[fieldLocal])
		s.remote, there = tableAddress(f[fieldRemote])
		s.inode, err = strconv.ParseUint(f[fieldInode], 10, 64)
		if here && there && err == nil {
			out = append(out, s)
		}
	}
	return out
}

// called returns the listening sockets on this machine to which connections with these inodes
// lead.
func called(sockets []tcpSocket, inodes map[uint64]bool) (out []tcpSocket) {
	seen := map[netip.AddrPort]bool{}
	for _, s := range sockets {
		if s.state != establishedHex || !inodes[s.inode] || seen[s.remote] {
			continue
		}
		seen[s.remote] = true
		if l, ok := listenerOf(sockets, s.remote); ok {
			out = append(out, l)
		}
	}
	return out
}

// listenerOf finds the socket that listens at an address, or at its port on all addresses. A
// connection that the process itself accepted leads to a client's port, which has no listener. An
// address of another machine may have the port of a listener here, so only loopback and addresses
// bound on this machine count.
func listenerOf(sockets []tcpSocket, at netip.AddrPort) (found tcpSocket, ok bool) {
	ours := at.Addr().IsLoopback()
	for _, s := range sockets {
		ours = ours || s.local.Addr() == at.Addr()
	}
	for _, s := range sockets {
		switch {
		case s.state != listenHex || s.inode == 0 || !ours:
		case s.local == at:
			s.remote = at
			return s, true
		case s.local.Port() == at.Port() && s.local.Addr().IsUnspecified():
			s.remote = at
			found, ok = s, true
		}
	}
	return found, ok
}

// peer is a process that the target calls.
type peer struct {
	record.Peer
	*processTree
	since int64   // ns, of its first reading
	first float64 // s of CPU that it had used until then
	last  float64
}

func (p *peer) recorded(now int64) record.Peer {
	out := p.Peer
	out.CPU = rate(p.first, p.last, p.since, now)
	return out
}
