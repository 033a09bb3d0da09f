package awake

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// There is a thread of the lowest priority for each CPU until Keep returns.
func TestKeep(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	procs := runtime.GOMAXPROCS(0)
	go func() { ended <- Keep(ctx) }()
	for lowest(t) < cpus.Count() {
		select {
		case err := <-ended:
			t.Fatalf("ended before its time: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for lowest(t) > 1 { // a thread ends a moment after its goroutine, but for the process's first, which sleeps on
		time.Sleep(time.Millisecond)
	}
	if now := runtime.GOMAXPROCS(0); now != procs {
		t.Errorf("GOMAXPROCS is %d, was %d", now, procs)
	}
}

// lowest counts the threads of this process that only run where nobody else wants to.
func lowest(t *testing.T) (n int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skipf("threads cannot be seen here: %v", err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if attr, err := unix.SchedGetAttr(tid, 0); err == nil && attr.Policy == unix.SCHED_IDLE {
			n++
		}
	}
	return n
}

func TestPID(t *testing.T) {
	for text, want := range map[string]int{"": 0, "4711": 4711, "-4": 0, "0": 0, "many": 0, "99999999999": 0} {
		t.Setenv(Variable, text)
		if got := PID(); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
