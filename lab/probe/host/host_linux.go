package host

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (h *host) bind() {
	h.openFiles, h.selfCPU, h.waitSecond = openFileLimit, processCPU, waitSecond
	h.realtime = func() error { return onOwnThread(tryRealtime) }
	h.uring = tryURing
	h.wakeups = func(ctx context.Context) (w wakeup, err error) {
		return w, onOwnThread(func() error { w, err = measureWakeups(ctx); return err })
	}
}

// onOwnThread runs f on a thread that ends afterwards, so that no other goroutine inherits the
// settings that f makes.
func onOwnThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		done <- f()
	}()
	return <-done
}

// tryRealtime requests the lowest real-time priority, as the load generator does.
func tryRealtime() error {
	return unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
}

// tryURing creates the smallest possible ring and closes it.
func tryURing() error {
	const entries = 1
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, entries, uintptr(unsafe.Pointer(&params)), 0)
	switch errno {
	case 0:
		return os.NewFile(fd, "io_uring").Close()
	case unix.ENOSYS:
		return errors.New("this kernel has none")
	case unix.EPERM:
		return errors.New("a policy forbids it")
	}
	return errno
}

const (
	naps    = 300              // 0.3 s in total; the p99 is the third longest
	napTime = time.Millisecond // long enough for an idle CPU to enter a sleep state
)

// measureWakeups measures how late a thread wakes up with the timer slack of the load generator. It
// must run on a thread of its own.
func measureWakeups(ctx context.Context) (wakeup, error) {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return wakeup{}, err
	}
	late := make([]time.Duration, 0, naps)
	nap := unix.NsecToTimespec(int64(napTime))
	for range naps {
		if err := ctx.Err(); err != nil {
			return wakeup{}, err
		}
		began := time.Now()
		if err := unix.Nanosleep(&nap, nil); err != nil && err != unix.EINTR {
			return wakeup{}, err
		} else if err == nil {
			late = append(late, time.Since(began)-napTime)
		}
	}
	if len(late) == 0 {
		return wakeup{}, errors.New("every sleep was interrupted")
	}
	slices.Sort(late)
	return wakeup{median: late[len(late)/2], p99: late[len(late)*99/100]}, nil
}
