package procfs

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Listening is a listening socket.
type Listening struct {
	Inode   uint64
	Address netip.AddrPort // the address that the connection was opened to
}

// Called returns the listening sockets on this machine that accepted the given connections, which
// are named by their inodes at the client. pid is a process in the network namespace of the
// connections; root is the folder that contains proc.
func Called(root string, pid int, inodes map[uint64]bool) []Listening {
	if len(inodes) == 0 {
		return nil
	}
	return called(table(root, strconv.Itoa(pid)), inodes)
}

func called(sockets []tcpSocket, inodes map[uint64]bool) (out []Listening) {
	seen := map[netip.AddrPort]bool{}
	for _, s := range sockets {
		if s.state != establishedHex || !inodes[s.inode] || seen[s.remote] {
			continue
		}
		seen[s.remote] = true
		if inode := listenerOf(sockets, s.remote); inode != 0 {
			out = append(out, Listening{inode, s.remote})
		}
	}
	return out
}

// Outgoing counts the established connections that a process opened, by their inodes: to listeners
// of its own, and to others. It counts the connected Unix sockets as leading to others, since the
// tables do not name their other ends.
func Outgoing(root string, pid int, inodes map[uint64]bool) (own, others int) {
	sockets := table(root, strconv.Itoa(pid))
	serves := map[uint16]bool{} // ports of the process's listeners
	for _, s := range sockets {
		if s.state == listenHex && inodes[s.inode] {
			serves[s.local.Port()] = true
		}
	}
	itself := map[netip.AddrPort]bool{} // whether an address is that of a listener of the process
	for _, s := range sockets {
		if s.state != establishedHex || !inodes[s.inode] || serves[s.local.Port()] {
			continue
		}
		if _, known := itself[s.remote]; !known {
			itself[s.remote] = serves[s.remote.Port()] && inodes[listenerOf(sockets, s.remote)]
		}
		if itself[s.remote] {
			own++
		} else {
			others++
		}
	}
	return own, others + unixConnected(root, strconv.Itoa(pid), inodes)
}

// unixConnected counts the connected Unix sockets among these inodes.
func unixConnected(root, process string, inodes map[uint64]bool) (n int) {
	lines, err := os.ReadFile(filepath.Join(root, "proc", process, "net", "unix"))
	if err != nil {
		return 0
	}
	const state, inode, connected = 5, 6, "03"
	for line := range bytes.Lines(lines) {
		f := strings.Fields(string(line))
		if len(f) <= inode || f[state] != connected {
			continue
		}
		if number, err := strconv.ParseUint(f[inode], 10, 64); err == nil && inodes[number] {
			n++
		}
	}
	return n
}

// listenerOf returns the inode of the socket that listens at an address, or at its port on all
// addresses; 0: there is none. A connection that the process itself accepted leads to a client's
// port, which has no listener. Another machine's address may have the port of a listener here, so
// only loopback addresses and those bound on this machine count.
func listenerOf(sockets []tcpSocket, at netip.AddrPort) (inode uint64) {
	ours := at.Addr().IsLoopback()
	for _, s := range sockets {
		ours = ours || s.local.Addr() == at.Addr()
	}
	for _, s := range sockets {
		switch {
		case s.state != listenHex || s.inode == 0 || !ours:
		case s.local == at:
			return s.inode
		case s.local.Port() == at.Port() && s.local.Addr().IsUnspecified():
			inode = s.inode
		}
	}
	return inode
}
