package procfs

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxPackets = 64       // maximum per answer; a packet holds a hundred sockets or more
	packetSize = 32 << 10 // bytes: the maximum size of a packet from the kernel

	patience = 100 * time.Millisecond // time limit of an answer
)

// AcceptQueues lists the listening TCP sockets of this network namespace; it omits those that the
// kernel does not report.
func AcceptQueues() (out []Queue) {
	request(1<<stateListen, 0, func(packet []byte) (done bool) {
		out, done = parseQueues(packet, out)
		return done
	})
	return out
}

// Connections lists the listening and the established TCP sockets of this network namespace. It
// omits those that the kernel does not report, and of each address family all beyond some 6,000.
func Connections() (out []Connection) {
	const withInfo = 1 << (attributeInfo - 1)
	request(1<<stateListen|1<<unix.BPF_TCP_ESTABLISHED, withInfo, func(packet []byte) (done bool) {
		out, done = parseConnections(packet, out)
		return done
	})
	return out
}

// request asks the kernel for the TCP sockets in the given states, separately for IPv4 and IPv6. It
// passes each packet of the answers to read, which reports whether the packet was the last of its
// answer.
func request(states uint32, extensions byte, read func(packet []byte) (done bool)) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	// The kernel answers immediately. The timeout ensures that a missing answer does not delay the
	// readings.
	timeout := unix.NsecToTimeval(patience.Nanoseconds())
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout) != nil {
		return
	}
	packet := make([]byte, packetSize)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if unix.Sendto(fd, socketsRequest(family, states, extensions), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
			return
		}
		for range maxPackets {
			n, _, err := unix.Recvfrom(fd, packet, 0)
			if err != nil {
				return
			}
			if read(packet[:n]) {
				break
			}
		}
	}
}

// socketsRequest builds a request for all TCP sockets of an address family in the given states; see
// sock_diag(7).
func socketsRequest(family byte, states uint32, extensions byte) []byte {
	const length = netlinkHeader + 56 // inet_diag_req_v2
	b, order := make([]byte, length), binary.NativeEndian
	order.PutUint32(b[0:], length)
	order.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[netlinkHeader], b[netlinkHeader+1], b[netlinkHeader+2] = family, unix.IPPROTO_TCP, extensions
	order.PutUint32(b[netlinkHeader+4:], states)
	return b
}
