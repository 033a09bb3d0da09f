package usage

import (
	"os"
	"path/filepath"
	"testing"

	"dyno/lab/record"
)

// A process that the target calls, and one that this process calls, count as dependencies from when
// they are found.
func TestPeersAreNoNeighbours(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 1, 20: 100, 30: 7, 40: 50}
	open := func(pid, name, link string) {
		fd := filepath.Join(f.root, "proc", pid, "fd")
		if err := os.MkdirAll(fd, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(link, filepath.Join(fd, name)); err != nil {
			t.Fatal(err)
		}
	}
	between := func(local, remote, state, inode string) string { // a line of /proc/net/tcp
		return "   0: " + local + " " + remote + " " + state + " 00000000:00000000 00:00000000 00000000  1000        0 " + inode + " 1 0 100\n"
	}
	listens := func(at, inode string) string { return between(at, "00000000:0000", "0A", inode) }
	table := listens("0100007F:1F90", "1") + listens("0100007F:1F91", "2") + listens("0100007F:1F92", "3") + listens("0100007F:1F93", "4") +
		between("0100007F:C001", "0100007F:1F91", "01", "11") + // the target calls 20,
		between("0100007F:C002", "0100007F:1F92", "01", "12") + // 20 calls 30,
		between("0100007F:C003", "0100007F:1F90", "01", "13") // and 40 calls the target
	for _, pid := range []string{"10", "20", "30", "40"} {
		f.write(pid+"/net/tcp", table)
	}
	open("10", "3", "socket:[1]")
	open("10", "4", "socket:[11]")
	open("20", "3", "socket:[2]")
	open("20", "4", "socket:[12]")
	open("30", "3", "socket:[3]")
	open("40", "3", "socket:[4]")
	open("40", "4", "socket:[13]")
	s := NewSampler(f.source(), Processes{PID: 10})
	at := int64(0)
	read := func(n int) (r Reading) {
		for range n {
			r = s.Read(at)
			at += int64(record.WindowLength)
		}
		return r
	}
	read(peersFirst + 1)
	f.clocks[20], f.clocks[30], f.clocks[40] = 101, 7.5, 60
	got := read(1)
	if !near(got.Dependencies, 1.5) || len(s.peers) != 2 {
		t.Fatalf("%v s by %d peers, want 1.5 by 2", got.Dependencies, len(s.peers))
	}
	if p := s.Peers(got.At)[0]; p.PID != 20 || p.Address != "127.0.0.1:8081" || p.CPU <= 0 {
		t.Errorf("%+v", p)
	}
	delete(f.clocks, 20)
	if got := read(1); !near(got.Dependencies, 1.5) {
		t.Errorf("the sum is %v s when one has ended", got.Dependencies)
	}
}
