package probe

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// ErrNoListener is returned for an address without a listening process that the lab can see.
var ErrNoListener = errors.New("no visible process listens there")

// loopback parses an address host:port. localhost stands for both loopback addresses.
func loopback(addr string) ([]netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address, as in 127.0.0.1:8080", addr)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return nil, fmt.Errorf("%q has no port by number, as in 127.0.0.1:8080", addr)
	}
	ips := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	if !strings.EqualFold(host, "localhost") {
		ip, err := netip.ParseAddr(host)
		if err != nil || !ip.Unmap().IsLoopback() {
			return nil, fmt.Errorf("%q is not on loopback, and only processes on this machine can be found", addr)
		}
		ips = []netip.Addr{ip.Unmap()}
	}
	var out []netip.AddrPort
	for _, ip := range ips {
		out = append(out, netip.AddrPortFrom(ip, uint16(number)))
	}
	return out, nil
}

// Fields of a line of /proc/net/tcp and tcp6; see proc(5).
const (
	fieldLocal = 1
	fieldState = 3
	fieldInode = 9
	listenHex  = "0A" // TCP_LISTEN
)

// listening returns the inodes of the sockets in a table (/proc/net/tcp or tcp6) that accept
// connections for one of the addresses: those bound to it, and those bound to all addresses.
func listening(table []byte, wanted []netip.AddrPort) (exact, all []uint64) {
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) <= fieldInode || f[fieldState] != listenHex {
			continue
		}
		local, ok := tableAddress(f[fieldLocal])
		inode, err := strconv.ParseUint(f[fieldInode], 10, 64)
		if !ok || err != nil || inode == 0 {
			continue
		}
		for _, w := range wanted {
			switch {
			case local == w:
				exact = append(exact, inode)
			case local.Port() == w.Port() && local.Addr().IsUnspecified() && (local.Addr().Is6() || w.Addr().Is4()):
				all = append(all, inode)
			}
		}
	}
	return exact, all
}

// tableAddress parses an address in the kernel's format: hexadecimal words of 32 bits, each in
// the byte order of the machine, and the port.
func tableAddress(s string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(s, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	raw, notHex := hex.DecodeString(address)
	if err != nil || notHex != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.BigEndian.PutUint32(raw[i:], binary.NativeEndian.Uint32(raw[i:]))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(ip.Unmap(), uint16(number)), ok
}

// socketInode parses the link of an open socket, as in socket:[4711].
func socketInode(link string) (uint64, bool) {
	text, ok := strings.CutPrefix(link, "socket:[")
	text, closed := strings.CutSuffix(text, "]")
	inode, err := strconv.ParseUint(text, 10, 64)
	return inode, ok && closed && err == nil
}
