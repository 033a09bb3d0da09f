// Package iouring is the part of the kernel's io_uring(7) that a load generator uses: sends that
// are submitted in groups, receives that go on into a ring of buffers, and waiting for both with
// one system call.
//
// It is not for files, and there is nothing in it on other systems than Linux. It starts no
// goroutines; a Ring belongs to one thread.
package iouring
