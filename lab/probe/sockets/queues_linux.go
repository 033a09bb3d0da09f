package sockets

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxPackets = 64       // of one answer; each holds some hundred sockets
	packetSize = 32 << 10 // bytes: the maximum that the kernel puts into one packet
	listenBit  = 1 << 10  // TCP_LISTEN is state 10

	patience = 100 * time.Millisecond // for an answer
)

// AcceptQueues lists the listening TCP sockets of this network namespace; it omits those that the
// kernel does not report.
func AcceptQueues() []Queue {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	// The kernel answers immediately; the timeout only ensures that nothing can delay the
	// readings.
	timeout := unix.NsecToTimeval(patience.Nanoseconds())
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout) != nil {
		return nil
	}
	var out []Queue
	packet := make([]byte, packetSize)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if unix.Sendto(fd, queuesRequest(family), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
			return out
		}
		for range maxPackets {
			n, _, err := unix.Recvfrom(fd, packet, 0)
			if err != nil {
				return out
			}
			var done bool
			if out, done = parseQueues(packet[:n], out); done {
				break
			}
		}
	}
	return out
}

// queuesRequest builds a request for all listening TCP sockets of an address family; see
// sock_diag(7).
func queuesRequest(family byte) []byte {
	const length = netlinkHeader + 56 // inet_diag_req_v2
	b, order := make([]byte, length), binary.NativeEndian
	order.PutUint32(b[0:], length)
	order.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	order.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[netlinkHeader], b[netlinkHeader+1] = family, unix.IPPROTO_TCP
	order.PutUint32(b[netlinkHeader+4:], listenBit)
	return b
}
