package http1

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Constants of the kernel's io_uring interface (include/uapi/linux/io_uring.h).
const (
	setupCQSize       = 1 << 3
	setupSubmitAll    = 1 << 7
	setupCoopTaskrun  = 1 << 8
	setupSingleIssuer = 1 << 12
	setupDeferTaskrun = 1 << 13

	featSingleMmap = 1 << 0
	featExtArg     = 1 << 8
	featMinTimeout = 1 << 15

	enterGetEvents = 1 << 0
	enterExtArg    = 1 << 3

	registerBufferRing = 22

	opPollAdd = 6
	opRecvMsg = 10
	opSend    = 26
	opRecv    = 27

	sqeBufferSelect   = 1 << 5
	sqeSkipSuccess    = 1 << 6
	recvMultishot     = 1 << 1 // in sqe.ioprio
	cqeHasBuffer      = 1 << 0
	cqeMore           = 1 << 1
	cqeBufferIDShift  = 16
	ringOffSQ         = 0
	ringOffSQEs       = 0x10000000
	bufferGroup       = 0
	bufferRingTailAt  = 14 // bytes: the tail is in the first entry's reserved field
	bufferRingEntSize = 16 // bytes
)

type ringParams struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFD uint32
	_                                                                      [3]uint32
	sq                                                                     struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// sqe is a request to the kernel (submission queue entry).
type sqe struct {
	opcode, flags uint8
	ioprio        uint16
	fd            int32
	off           uint64
	addr          uint64
	len           uint32
	opFlags       uint32
	userData      uint64
	bufGroup      uint16
	_             [22]byte
}

// cqe is the kernel's answer to a request (completion queue entry).
type cqe struct {
	UserData uint64 // of the request
	Res      int32  // what the system call would return; below 0: an errno
	flags    uint32
}

// Buffer returns the number of the buffer that was received into; ok is false if there is none.
func (e *cqe) Buffer() (id uint16, ok bool) {
	return uint16(e.flags >> cqeBufferIDShift), e.flags&cqeHasBuffer != 0
}

// More reports whether the request goes on, with further completions.
func (e *cqe) More() bool { return e.flags&cqeMore != 0 }

type enterArg struct {
	sigmask uint64
	size    uint32
	minWait uint32 // us
	ts      uint64
}

type bufferReg struct {
	addr    uint64
	entries uint32
	group   uint16
	flags   uint16
	_       [3]uint64
}

type bufferEntry struct {
	addr uint64
	len  uint32
	id   uint16
	_    uint16
}

// ring is the part of the kernel's io_uring(7) that a load generator needs: sends that are
// submitted in groups, multishot receives into a ring of buffers, and one system call that waits
// for both. It knows nothing of HTTP, and is not for files. Only one thread may use it.
type ring struct {
	fd       int
	shared   []byte // memory of both queues, shared with the kernel
	sqeBytes []byte
	sqHead   *uint32
	sqTail   *uint32
	sqMask   uint32
	sqes     []sqe
	tail     uint32 // the program's tail; Submit and Wait store it in the shared tail
	cqHead   *uint32
	cqTail   *uint32
	cqMask   uint32
	cqes     []cqe

	bufferRing []byte
	buffers    []byte
	bufferSize int
	bufferMask uint16
	bufferTail uint16

	canPause bool        // Wait heeds its pause (Linux 6.12)
	stamped  unix.Msghdr // of ReceiveStamped: room for a time, none for an address
}

// newRing makes a ring for a number of concurrent requests and a number of receive buffers, both
// powers of two. It fails if the kernel lacks a feature that the ring needs (Linux 6.1 has them
// all).
func newRing(entries, buffers, bufferSize int) (*ring, error) {
	p := ringParams{
		flags:     setupCQSize | setupSubmitAll | setupCoopTaskrun | setupSingleIssuer | setupDeferTaskrun,
		cqEntries: uint32(4 * entries),
	}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	r := &ring{fd: int(fd), canPause: p.features&featMinTimeout != 0}
	r.stamped.SetControllen(stampSpace)
	if p.features&featSingleMmap == 0 || p.features&featExtArg == 0 {
		r.Close()
		return nil, fmt.Errorf("io_uring: %w", unix.ENOSYS)
	}
	if err := r.mapRings(&p); err != nil {
		r.Close()
		return nil, fmt.Errorf("mapping an io_uring: %w", err)
	}
	if err := r.addBuffers(buffers, bufferSize); err != nil {
		r.Close()
		return nil, fmt.Errorf("giving buffers to an io_uring: %w", err)
	}
	return r, nil
}

func (r *ring) mapRings(p *ringParams) (err error) {
	size := max(p.sq.array+4*p.sqEntries, p.cq.cqes+uint32(unsafe.Sizeof(cqe{}))*p.cqEntries)
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.shared, err = unix.Mmap(r.fd, ringOffSQ, int(size), prot, flags); err != nil {
		return err
	}
	if r.sqeBytes, err = unix.Mmap(r.fd, ringOffSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{})), prot, flags); err != nil {
		return err
	}
	at := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.shared[off])) }
	r.sqHead, r.sqTail, r.sqMask = at(p.sq.head), at(p.sq.tail), *at(p.sq.mask)
	r.cqHead, r.cqTail, r.cqMask = at(p.cq.head), at(p.cq.tail), *at(p.cq.mask)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.sqeBytes[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.shared[p.cq.cqes])), p.cqEntries)
	for i, array := uint32(0), unsafe.Slice(at(p.sq.array), p.sqEntries); i < p.sqEntries; i++ {
		array[i] = i
	}
	return nil
}

// addBuffers gives the kernel buffers to receive into. They are outside Go's heap, because the
// kernel may use a buffer after the program has dropped the ring.
func (r *ring) addBuffers(n, size int) (err error) {
	const prot, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANONYMOUS | unix.MAP_PRIVATE
	if r.bufferRing, err = unix.Mmap(-1, 0, n*bufferRingEntSize, prot, flags); err != nil {
		return err
	}
	if r.buffers, err = unix.Mmap(-1, 0, n*size, prot, flags); err != nil {
		return err
	}
	r.bufferSize, r.bufferMask = size, uint16(n-1)
	reg := bufferReg{addr: uint64(uintptr(unsafe.Pointer(&r.bufferRing[0]))), entries: uint32(n), group: bufferGroup}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerBufferRing, uintptr(unsafe.Pointer(&reg)), 1, 0, 0)
	if errno != 0 {
		return errno
	}
	for id := range n {
		r.GiveBack(uint16(id))
	}
	r.PublishBuffers()
	return nil
}

// Buffer returns the first n bytes of a buffer that the kernel received into.
func (r *ring) Buffer(id uint16, n int) []byte {
	at := int(id) * r.bufferSize
	return r.buffers[at : at+n : at+r.bufferSize]
}

// GiveBack returns a buffer to the kernel, which sees it after the next PublishBuffers.
func (r *ring) GiveBack(id uint16) {
	e := (*bufferEntry)(unsafe.Pointer(&r.bufferRing[int(r.bufferTail&r.bufferMask)*bufferRingEntSize]))
	e.addr, e.len, e.id = uint64(uintptr(unsafe.Pointer(&r.buffers[int(id)*r.bufferSize]))), uint32(r.bufferSize), id
	r.bufferTail++
}

// PublishBuffers lets the kernel see the buffers that were given back, by storing the 16-bit
// tail. Go has no atomic store of 16 bits, so it stores the tail together with the 16-bit id
// before it, unchanged.
func (r *ring) PublishBuffers() {
	word := (*uint32)(unsafe.Pointer(&r.bufferRing[bufferRingTailAt-2]))
	atomic.StoreUint32(word, *word&0xffff|uint32(r.bufferTail)<<16)
}

// next returns a cleared queue entry to fill in. The kernel consumes entries when they are
// submitted, so a full queue has room again after Submit.
func (r *ring) next(op uint8, fd int, userData uint64) *sqe {
	for r.tail-atomic.LoadUint32(r.sqHead) > r.sqMask {
		r.Submit()
	}
	e := &r.sqes[r.tail&r.sqMask]
	r.tail++
	*e = sqe{opcode: op, fd: int32(fd), userData: userData}
	return e
}

// Poll requests one completion as soon as a descriptor has one of the given poll(2) events.
func (r *ring) Poll(fd int, events uint32, userData uint64) {
	r.next(opPollAdd, fd, userData).opFlags = events
}

// Send requests a send(2) with the given flags. The bytes must be on the heap and must not change
// until they are sent. A quiet request produces a completion only if it fails.
func (r *ring) Send(fd int, b []byte, flags uint32, quiet bool, userData uint64) {
	e := r.next(opSend, fd, userData)
	e.addr, e.len, e.opFlags = uint64(uintptr(unsafe.Pointer(&b[0]))), uint32(len(b)), flags
	if quiet {
		e.flags = sqeSkipSuccess
	}
}

// Receive requests a completion for each piece of data that a socket receives, each in its own
// buffer (multishot receive).
func (r *ring) Receive(fd int, userData uint64) {
	e := r.next(opRecv, fd, userData)
	e.ioprio, e.flags, e.bufGroup = recvMultishot, sqeBufferSelect, bufferGroup
}

// ReceiveStamped is Receive with the instant at which the kernel received the data, for a socket
// with the option SO_TIMESTAMPNS. Stamped reads what is then in a buffer.
func (r *ring) ReceiveStamped(fd int, userData uint64) {
	e := r.next(opRecvMsg, fd, userData)
	e.ioprio, e.flags, e.bufGroup = recvMultishot, sqeBufferSelect, bufferGroup
	e.addr, e.len = uint64(uintptr(unsafe.Pointer(&r.stamped))), 1
}

// messageOut precedes what recvmsg received in a buffer (struct io_uring_recvmsg_out).
type messageOut struct{ nameLen, controlLen, payloadLen, flags uint32 }

// stampSpace is the number of bytes that a control message with a time takes.
const stampSpace = unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))

// Stamped splits what ReceiveStamped received: the data, and the instant, in ns of CLOCK_REALTIME,
// at which the kernel received the segment with its end; 0: the kernel did not note it.
func Stamped(in []byte) (data []byte, at int64) {
	const head = int(unsafe.Sizeof(messageOut{}))
	out := (*messageOut)(unsafe.Pointer(&in[0]))
	if control := in[head : head+stampSpace]; int(out.controlLen) == stampSpace {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SO_TIMESTAMPNS {
			at = (*unix.Timespec)(unsafe.Pointer(&control[unix.SizeofCmsghdr])).Nano()
		}
	}
	return in[head+stampSpace:], at
}

// Pending returns the number of requests that the kernel has not yet taken.
func (r *ring) Pending() uint32 { return r.tail - atomic.LoadUint32(r.sqHead) }

// Submit hands the requests to the kernel. Those that the kernel does not take, for want of
// memory, stay pending.
func (r *ring) Submit() {
	atomic.StoreUint32(r.sqTail, r.tail)
	unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.Pending()), 0, 0, 0, 0)
}

// Wait submits as Submit does, and waits up to the timeout for at least one completion. During the
// pause, in us, with which the wait begins, fewer than enough completions do not wake the thread; a
// ring without canPause takes none.
//
// A RawSyscall would cost less, but keep the thread's P: the runtime then interrupts the thread every
// 10 ms, and it goes on only when a thread of ordinary priority has run.
func (r *ring) Wait(timeout *unix.Timespec, pause uint32, enough int) {
	atomic.StoreUint32(r.sqTail, r.tail)
	arg := enterArg{ts: uint64(uintptr(unsafe.Pointer(timeout)))}
	atLeast := uintptr(1)
	switch {
	case timeout.Nano() <= 0 || *r.cqHead != atomic.LoadUint32(r.cqTail):
		atLeast = 0
	case pause > 0 && enough > 1:
		arg.minWait, atLeast = pause, uintptr(enough)
	}
	unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.Pending()), atLeast, enterGetEvents|enterExtArg, uintptr(unsafe.Pointer(&arg)), unsafe.Sizeof(arg))
}

// Completions calls handle for every available completion.
func (r *ring) Completions(handle func(*cqe)) {
	head, tail := *r.cqHead, atomic.LoadUint32(r.cqTail)
	for ; head != tail; head++ {
		handle(&r.cqes[head&r.cqMask])
	}
	atomic.StoreUint32(r.cqHead, head)
}

// Close closes the ring, whether or not requests are still in progress.
func (r *ring) Close() {
	unix.Close(r.fd)
	for _, m := range [][]byte{r.shared, r.sqeBytes, r.bufferRing, r.buffers} {
		if m != nil {
			unix.Munmap(m)
		}
	}
}
