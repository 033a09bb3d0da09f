package awake

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// There is a thread of the lowest priority for each CPU until they are stopped.
func TestKeep(t *testing.T) {
	self := os.Getpid()
	if loops(self) > 0 {
		t.Skip("these tests run at the lowest priority themselves")
	}
	procs := runtime.GOMAXPROCS(0)
	stop, err := Keep()
	if err != nil {
		t.Skip(err)
	}
	t.Setenv(Variable, strconv.Itoa(self))
	n, pid := loops(self), PID()
	stop()
	if n != runtime.NumCPU() || pid != self {
		t.Errorf("%d loops for %d CPUs, of process %d; this is %d", n, runtime.NumCPU(), pid, self)
	}
	for deadline := time.Now().Add(10 * time.Second); loops(self) > 0; time.Sleep(time.Millisecond) { // a thread ends a moment after its goroutine
		if time.Now().After(deadline) {
			t.Fatalf("%d threads are left", loops(self))
		}
	}
	if now := runtime.GOMAXPROCS(0); now != procs {
		t.Errorf("GOMAXPROCS is %d, was %d", now, procs)
	}
	if pid := PID(); pid != 0 {
		t.Errorf("process %d keeps them awake, though it has stopped", pid)
	}
}

func TestPID(t *testing.T) {
	for _, text := range []string{"", "-4", "0", "many", "99999999999", "2147483646"} {
		t.Setenv(Variable, text)
		if got := PID(); got != 0 {
			t.Errorf("%q: %d", text, got)
		}
	}
}
