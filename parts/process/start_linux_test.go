package process

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pinned process has its CPUs before it runs, and the lab's own threads keep theirs.
func TestPinning(t *testing.T) {
	allowed := AllowedCPUs()
	last := allowed[len(allowed)-1:]
	s := shell(`grep Cpus_allowed_list /proc/self/status`)
	s.CPUs = last
	p := start(t, s)
	ended(t, p)
	if got := strings.Fields(p.LogTail(1)); len(got) != 2 || got[1] != strconv.Itoa(last[0]) {
		t.Errorf("pinned to %v, the process saw %v", last, got)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		var set unix.CPUSet
		tid, _ := strconv.Atoi(task.Name())
		if unix.SchedGetaffinity(tid, &set) == nil && set.Count() != len(allowed) {
			t.Errorf("the lab's thread %s was left with CPUs %v of %v", task.Name(), members(&set), allowed)
		}
	}
}

func TestPinningToWhatIsNotThere(t *testing.T) {
	for _, cpu := range []int{-1, 1023, 1 << 20} {
		s := shell("exit 0")
		s.CPUs = []int{cpu}
		if p, err := Start(t.Context(), s); err == nil {
			p.Stop(time.Second)
			t.Errorf("CPU %d was accepted", cpu)
		}
	}
}
