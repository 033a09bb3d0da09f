package usage

import (
	"os"
	"path/filepath"
	"testing"

	"dyno/lab/probe/procfs"
)

func (f *fakeHost) socket(pid, fd, target string) {
	f.t.Helper()
	dir := filepath.Join(f.root, "proc", pid, "fd")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, fd)); err != nil {
		f.t.Fatal(err)
	}
}

// Only the sockets of the target count, including those of a child and those that are opened later.
func TestAccepting(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 1, 11: 1}
	f.thread(10, 10, 0, "11")
	f.thread(11, 11, 0, "")
	f.socket("10", "3", "socket:[100]")
	f.socket("10", "4", "/dev/null")
	f.socket("11", "3", "socket:[101]")
	f.socket("20", "3", "socket:[200]")
	queues := []procfs.Queue{{Inode: 100, Length: 1, Limit: 128}, {Inode: 200, Length: 99, Limit: 128}}
	h := f.source()
	h.Queues = func() []procfs.Queue { return queues }
	s := NewSampler(h, Processes{PID: 10})
	at := int64(0)
	after := func(readings int) (got procfs.Queue) {
		for range readings {
			got = s.Read(at).Accept
			at++
		}
		return got
	}
	if got := after(acceptEvery + 1); got != queues[0] {
		t.Errorf("%+v, want the target's %+v", got, queues[0])
	}
	queues = append(queues, procfs.Queue{Inode: 101, Length: 7, Limit: 64})
	if got := after(treeEvery + acceptEvery); got != queues[2] {
		t.Errorf("%+v, want the child's %+v", got, queues[2])
	}
	queues = queues[1:2]
	if got := after(acceptEvery); got != (procfs.Queue{}) {
		t.Errorf("%+v of sockets that were closed", got)
	}
	if len(s.accepting.own) != 1 {
		t.Errorf("closed sockets are remembered: %v", s.accepting.own)
	}
}
