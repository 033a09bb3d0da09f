package lameduck

import "golang.org/x/sys/unix"

// SealSocket makes the kernel refuse further connections at a listening socket, so that none is
// established and then reset by the close: it drops SYN packets. Clients repeat them, and find the
// socket closed. On a kernel without this feature, and at a listener with Multipath TCP,
// connections made between the last accept and the close are reset.
func SealSocket(fd int) {
	const flags, syn = 13, 0x02 // offset in the TCP header, and the flag
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff}, // accept the whole packet; accepted sockets inherit the filter
	}
	unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}
