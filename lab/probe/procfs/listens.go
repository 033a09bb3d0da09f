package procfs

import (
	"cmp"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Listens returns the TCP addresses at which a process accepts connections, in the order in which
// their sockets were made. An address bound on all interfaces is given by its loopback address. It
// is empty where /proc does not show them.
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
		if at.Addr().IsUnspecified() { // one of :: accepts IPv4 as well, unless the process forbade it
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		}
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}
