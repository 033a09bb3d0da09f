package procfs

import (
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Listens returns the TCP addresses at which a process accepts connections, in the order of the
// inodes of their sockets, which is that of their creation. For a socket bound to all addresses it
// returns 127.0.0.1. It returns nothing where /proc does not show them.
func Listens(pid int) []netip.AddrPort { return listens("/", pid) }

func listens(root string, pid int) (out []netip.AddrPort) {
	if _, err := os.Stat(filepath.Join(root, "proc", strconv.Itoa(pid), "fd")); err != nil {
		return nil
	}
	held := slices.Collect(Held(root, pid, maxFiles))
	sockets := slices.DeleteFunc(table(root, strconv.Itoa(pid)), func(s tcpSocket) bool {
		return s.state != listenHex || !slices.Contains(held, s.inode)
	})
	slices.SortFunc(sockets, func(a, b tcpSocket) int { return cmp.Compare(a.inode, b.inode) })
	for _, s := range sockets {
		at := s.local
		if at.Addr().IsUnspecified() { // a socket bound to :: accepts IPv4 too, unless it has IPV6_V6ONLY
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}
