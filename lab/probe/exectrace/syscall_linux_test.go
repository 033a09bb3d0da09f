package exectrace

import (
	"sync"
	"syscall"
	"testing"
	"time"
)

func sleepInKernel() {
	ts := syscall.NsecToTimespec((20 * time.Millisecond).Nanoseconds())
	for syscall.Nanosleep(&ts, &ts) == syscall.EINTR { // with the rest in ts
	}
}

// The kernel holds the goroutine for much longer than blockedAfter, whether its processor is taken or not.
func TestSystemCall(t *testing.T) {
	s := summarised(t, traced(t, func() {
		var all sync.WaitGroup
		for range 2 {
			all.Go(sleepInKernel)
		}
		all.Wait()
	}))
	w := waitIn(t, s, systemCall, "exectrace.sleepInKernel")
	if w.Goroutines != 2 || w.Count < 2 || w.Seconds < 0.03 || w.WokenBy != nil {
		t.Errorf("%+v", w)
	}
	if g := group(t, s, "exectrace.sleepInKernel"); g.Goroutines != 2 || g.Syscall < 0.03 || g.Syscall != w.Seconds || s.Syscall < g.Syscall {
		t.Errorf("%+v", g)
	}
}
