package probe

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
)

// acceptQueue is a listening socket's queue of connections that are not yet accepted.
type acceptQueue struct {
	inode         uint64 // of the socket
	length, limit int64
}

const (
	// acceptEvery is the interval between readings of the accept queues, in readings. The kernel
	// lists its listening sockets in some 0.1 ms (through /proc/net/tcp it lists all sockets, in
	// 2 ms).
	acceptEvery = 2
	// maxClaims bounds the open files of a process that are searched for its listeners, which are
	// among the first that it opens.
	maxClaims = 4096
)

// accepting finds the longest accept queue of a process tree.
type accepting struct {
	own  map[uint64]bool // by inode of a listening socket: the process tree has it open
	last acceptQueue
}

// read returns the longest of the process tree's accept queues; between readings it returns the
// previous one.
func (a *accepting) read(h host, f *processTree, count int) acceptQueue {
	if h.queues == nil || count%acceptEvery != 0 {
		return a.last
	}
	a.last = acceptQueue{}
	known := make(map[uint64]bool, len(a.own))
	unknown := map[uint64]bool{}
	for _, q := range h.queues() {
		mine, asked := a.own[q.inode]
		if !asked {
			unknown[q.inode] = true
			continue
		}
		known[q.inode] = mine
		if mine && (a.last.inode == 0 || q.length > a.last.length) {
			a.last = q
		}
	}
	a.own = known
	if len(unknown) > 0 && count%treeEvery == 0 {
		for inode := range unknown {
			known[inode] = false
		}
		for pid := range f.members {
			h.claim(pid, unknown, known)
		}
	}
	return a.last
}

// claim marks in own the sockets that a process has open.
func (h host) claim(pid int, sockets, own map[uint64]bool) {
	folder := filepath.Join(h.root, "proc", strconv.Itoa(pid), "fd")
	dir, err := os.Open(folder)
	if err != nil {
		return // it has ended, or belongs to another user
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxClaims)
	for _, name := range names {
		link, err := os.Readlink(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		if inode, ok := socketInode(link); ok && sockets[inode] {
			own[inode] = true
		}
	}
}

// Lengths and offsets in the answers of sock_diag(7), which are in the machine's byte order.
const (
	netlinkHeader = 16 // length, type, flags, sequence, port
	netlinkError  = 2
	netlinkDone   = 3
	diagLength    = 72 // inet_diag_msg; of a listening socket, its receive queue is the accept queue
	diagReceive   = 56
	diagSend      = 60 // and its send queue that queue's limit
	diagInode     = 68
)

// parseQueues adds the listening sockets in one packet of an answer to out; done means that no
// packet follows.
func parseQueues(packet []byte, out []acceptQueue) (queues []acceptQueue, done bool) {
	order := binary.NativeEndian
	for len(packet) >= netlinkHeader {
		length := int(order.Uint32(packet))
		if length < netlinkHeader || length > len(packet) {
			return out, true
		}
		switch kind := order.Uint16(packet[4:]); {
		case kind == netlinkDone || kind == netlinkError:
			return out, true
		case length >= netlinkHeader+diagLength:
			row := packet[netlinkHeader:length]
			out = append(out, acceptQueue{
				inode:  uint64(order.Uint32(row[diagInode:])),
				length: int64(order.Uint32(row[diagReceive:])),
				limit:  int64(order.Uint32(row[diagSend:])),
			})
		}
		packet = packet[min((length+3)&^3, len(packet)):] // messages begin at multiples of 4
	}
	return out, false
}
