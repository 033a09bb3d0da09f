package procfs

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Fields of a line of /proc/net/tcp and tcp6; see proc(5).
const (
	fieldLocal     = 1
	fieldRemote    = 2
	fieldState     = 3
	fieldInode     = 9
	listenHex      = "0A" // TCP_LISTEN
	establishedHex = "01" // TCP_ESTABLISHED
)

// tcpSocket is a line of /proc/net/tcp or tcp6.
type tcpSocket struct {
	local, remote netip.AddrPort
	state         string
	inode         uint64
}

// tcpSockets parses /proc/net/tcp or tcp6. It skips invalid lines.
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

// table reads the TCP sockets in the network namespace of a process.
func table(root, process string) (out []tcpSocket) {
	for _, name := range []string{"tcp", "tcp6"} {
		if lines, err := os.ReadFile(filepath.Join(root, "proc", process, "net", name)); err == nil { // without IPv6, there is no tcp6
			out = append(out, tcpSockets(lines)...)
		}
	}
	return out
}

// tableAddress parses an address in the kernel's format: the IP address as hexadecimal words of 32
// bits, each in the machine's byte order, and the port.
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
