package host

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A check must not leave its settings on a thread: the runtime would run the next goroutine on a
// thread at real-time priority.
func TestChecksLeaveNoThreadChanged(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var inside int
	err := onOwnThread(func() error { inside = unix.Gettid(); return nil })
	if err != nil || inside == unix.Gettid() {
		t.Fatalf("ran on thread %d, which is the caller's (%v)", inside, err)
	}
	if err := onOwnThread(tryRealtime); err != nil {
		t.Skipf("real-time priority: %v", err)
	}
	for range 50 { // new goroutines run on the threads that are left
		onOwnThread(func() error {
			if attr, err := unix.SchedGetAttr(0, 0); err != nil || attr.Policy != unix.SCHED_NORMAL {
				t.Errorf("a thread was left with policy %+v, %v", attr, err)
			}
			return nil
		})
	}
}

func TestWakeupsAreMeasured(t *testing.T) {
	w, err := thisHost().wakeups(t.Context())
	if err != nil || w.p99 < w.median {
		t.Errorf("%+v, %v", w, err)
	}
}
