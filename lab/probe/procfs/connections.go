package procfs

import (
	"encoding/binary"
	"net/netip"
)

// Connection is a TCP connection, or a listening socket.
type Connection struct {
	Inode     uint64 // the socket
	Listening bool
	Local     uint16 // port
	Remote    netip.AddrPort
	// Sent and Received are the times since the last byte of each direction, in ms; the kernel
	// counts in ticks of 1 to 10 ms. A direction without any byte has Never. So has Sent of a
	// connection that only sends, such as that of a log: it has sent more than maxQuestion
	// segments, and received none.
	Sent, Received uint32
}

// Never is the time since an event that has not happened.
const Never = ^uint32(0)

// maxQuestion is the maximum number of segments of a request that has no answer yet: on loopback,
// some MB.
const maxQuestion = 64

// Offsets in an inet_diag_msg and in the tcp_info that follows it (linux/inet_diag.h,
// linux/tcp.h).
const (
	diagFamily      = 0
	diagState       = 1
	diagSourcePort  = 4
	diagTargetPort  = 6
	diagTarget      = 24
	attributeHeader = 4
	attributeInfo   = 2 // INET_DIAG_INFO
	infoSent        = 44
	infoReceived    = 52
	infoSegmentsIn  = 152 // segments with data
	infoSegmentsOut = 156
	infoLength      = 160
	familyIPv4      = 2
	stateListen     = 10
)

// parseConnections appends the sockets in one packet of the kernel's answer to out. done is true if
// no packet follows.
func parseConnections(packet []byte, out []Connection) (all []Connection, done bool) {
	done = messages(packet, func(row []byte) {
		if c, ok := parseConnection(row); ok {
			out = append(out, c)
		}
	})
	return out, done
}

func parseConnection(row []byte) (Connection, bool) {
	order, network := binary.NativeEndian, binary.BigEndian
	c := Connection{
		Inode: uint64(order.Uint32(row[diagInode:])), Listening: row[diagState] == stateListen,
		Local: network.Uint16(row[diagSourcePort:]), Sent: Never, Received: Never,
	}
	length := 16
	if row[diagFamily] == familyIPv4 {
		length = 4
	}
	ip, _ := netip.AddrFromSlice(row[diagTarget : diagTarget+length])
	c.Remote = netip.AddrPortFrom(ip.Unmap(), network.Uint16(row[diagTargetPort:]))
	for rest := row[diagLength:]; len(rest) >= attributeHeader; {
		size, kind := int(order.Uint16(rest)), order.Uint16(rest[2:])
		if size < attributeHeader || size > len(rest) {
			return c, false
		}
		if info := rest[attributeHeader:size]; kind == attributeInfo && len(info) >= infoLength {
			out, in := order.Uint32(info[infoSegmentsOut:]), order.Uint32(info[infoSegmentsIn:])
			if out > 0 && (in > 0 || out <= maxQuestion) {
				c.Sent = order.Uint32(info[infoSent:])
			}
			if in > 0 {
				c.Received = order.Uint32(info[infoReceived:])
			}
		}
		rest = rest[min((size+3)&^3, len(rest)):]
	}
	return c, true
}
