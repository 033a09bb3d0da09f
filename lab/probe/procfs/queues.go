package procfs

import "encoding/binary"

// Queue is a listening socket's queue of connections that are not yet accepted.
type Queue struct {
	Inode         uint64 // the socket
	Length, Limit int64
}

// Lengths and offsets in the answers of sock_diag(7), whose numbers are in the machine's byte
// order.
const (
	netlinkHeader = 16 // length, type, flags, sequence, port
	netlinkError  = 2
	netlinkDone   = 3
	diagLength    = 72 // inet_diag_msg
	diagReceive   = 56
	diagSend      = 60 // send queue; of a listening socket, the limit of its accept queue
	diagInode     = 68
)

// parseQueues appends the listening sockets in one packet of the kernel's answer to out. done is
// true if no packet follows.
func parseQueues(packet []byte, out []Queue) (queues []Queue, done bool) {
	order := binary.NativeEndian
	done = messages(packet, func(row []byte) {
		out = append(out, Queue{
			Inode:  uint64(order.Uint32(row[diagInode:])),
			Length: int64(order.Uint32(row[diagReceive:])),
			Limit:  int64(order.Uint32(row[diagSend:])),
		})
	})
	return out, done
}

// messages passes each socket in one packet of the kernel's answer to take. done is true if no
// packet follows.
func messages(packet []byte, take func(row []byte)) (done bool) {
	order := binary.NativeEndian
	for len(packet) >= netlinkHeader {
		length := int(order.Uint32(packet))
		if length < netlinkHeader || length > len(packet) {
			return true
		}
		switch kind := order.Uint16(packet[4:]); {
		case kind == netlinkDone || kind == netlinkError:
			return true
		case length >= netlinkHeader+diagLength:
			take(packet[netlinkHeader:length])
		}
		packet = packet[min((length+3)&^3, len(packet)):] // messages begin at multiples of 4
	}
	return false
}
