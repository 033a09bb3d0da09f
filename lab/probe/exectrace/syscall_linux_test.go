package exectrace

import (
	"math"
	"os"
	"os/signal"
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

// A system call of much more than blockedAfter counts, whether or not the runtime takes the
// processor away.
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

// Every service has a goroutine that waits for signals. The trace shows it in a system call, but it
// waits.
func TestWaitingForSignals(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1) // starts the goroutine, once per process
	defer signal.Stop(c)
	await(t, 1, "syscall", "os/signal.signal_recv")
	s := summarised(t, traced(t, nap))
	w := waitIn(t, s, "", "os/signal.signal_recv")
	if g := group(t, s, "os/signal.loop"); w.Count != 0 || g.Syscall != 0 || g.Waiting != w.Seconds || math.Abs(g.Waiting-s.Seconds) > 1e-9 {
		t.Errorf("%+v of %+v", w, g)
	}
}
