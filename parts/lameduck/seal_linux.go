package lameduck

import "golang.org/x/sys/unix"

// SealSocket has the kernel take no further connections at a listening socket, so that none is made and then reset when it
// is closed: it drops the packets that ask for one. Their clients ask again, and find it closed. A kernel that does not do
// that leaves the moment between the last accept and the close.
func SealSocket(fd int) {
	const flags, syn = 13, 0x02 // offset in the TCP header, and the flag
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff}, // the whole packet; what was accepted inherits the filter
	}
	unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}
