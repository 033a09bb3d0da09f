package usage

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fakeHost is a root folder in which a test writes the files of /proc.
type fakeHost struct {
	t      *testing.T
	root   string
	clocks map[int]float64 // CPU clocks by process, in s; a process that is missing here has no clock
}

func newFakeHost(t *testing.T) *fakeHost {
	return &fakeHost{t: t, root: t.TempDir(), clocks: map[int]float64{}}
}

func (f *fakeHost) source() Source {
	return Source{Root: f.root, Clock: func(pid int) (float64, bool) { s, ok := f.clocks[pid]; return s, ok }}
}

func (f *fakeHost) write(path, text string) {
	f.t.Helper()
	path = filepath.Join(f.root, "proc", path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// thread writes the files of a thread: how long it waited for a CPU, in s, and its children.
func (f *fakeHost) thread(pid, tid int, delay float64, children string) {
	dir := fmt.Sprintf("%d/task/%d/", pid, tid)
	f.write(dir+"schedstat", fmt.Sprintf("5 %d 7\n", int64(delay*1e9)))
	f.write(dir+"children", children)
}

func (f *fakeHost) remove(path string) {
	if err := os.RemoveAll(filepath.Join(f.root, "proc", path)); err != nil {
		f.t.Fatal(err)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestSamplerReadsAll(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 2.5, 11: 0.5, 20: 7, 30: 1.25}
	f.thread(10, 10, 1, "11 ")
	f.thread(11, 11, 3, "")
	f.thread(20, 20, 9, "")
	f.write("10/statm", "900 100 5 0 0 0 0")
	f.write("11/statm", "900 20 5 0 0 0 0")
	f.write("10/status", "Cpus_allowed_list:\t0\n")
	f.write("30/status", "Cpus_allowed_list:\t2-3\n")
	f.write("stat", "cpu 9 9 9 9\ncpu0 100 0 0 50 0 0 0 10\ncpu1 1000000 0 0 50 0 0 0 1000000\ncpu2 0 0 200 50\ncpu3 0 0 0 0 0 0 50 5\n")
	f.write("pressure/cpu", "some avg10=0 total=3000000\n")
	f.write("pressure/io", "some avg10=0 total=500000\n")
	f.write("10/stat", "10 (a) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0\n")
	f.write("11/stat", "11 (b) S 1 1 1 0 -1 0 0 0 0 0 0 25 0 0 20 0 1 0\n")
	s := NewSampler(f.source(), Processes{PID: 10, Dependencies: []int{20}, Self: 30})
	got := s.Read(5)
	page := int64(os.Getpagesize())
	if got.At != 5 || !near(got.CPU, 3) || !near(got.System, 0.75) || !near(got.Dependencies, 7) || !near(got.Self, 1.25) || got.RSS != 120*page {
		t.Errorf("processes: %+v", got)
	}
	if !near(got.Busy, 3.5) || !near(got.Steal, 0.15) || !near(got.Pressure, 3) || !near(got.PressureIO, 0.5) {
		t.Errorf("the machine, CPU 1 left out: %+v", got)
	}
	if got.Delay != 0 {
		t.Errorf("delay %v from before anybody watched", got.Delay)
	}
	f.thread(10, 10, 1.5, "11 ")
	f.thread(10, 12, 0.25, "") // a new thread
	f.remove("11/task")        // the child's thread ended
	if got = s.Read(6); !near(got.Delay, 0.75) {
		t.Errorf("delay %v s, want 0.5 more and 0.25 of the new thread", got.Delay)
	}
	if !s.sees.Target || !s.sees.Machine || !s.sees.PressureCPU || !s.sees.PressureIO {
		t.Errorf("sees %v %v %v %v", s.sees.Target, s.sees.Machine, s.sees.PressureCPU, s.sees.PressureIO)
	}
}

// A process that generates load for the lab, and its children, count as the lab.
func TestHelperCountsWithTheLab(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 2, 30: 1.25, 40: 3, 41: 0.5}
	f.thread(10, 10, 1, "")
	f.thread(40, 40, 1, "41")
	f.thread(41, 41, 1, "")
	s := NewSampler(f.source(), Processes{PID: 10, Self: 30, GeneratorPIDs: []int{40}})
	if got := s.Read(5); !near(got.Self, 4.75) || !near(got.CPU, 2) {
		t.Errorf("%+v", got)
	}
	delete(f.clocks, 30)
	f.clocks[40] = 4
	if got := s.Read(6); !near(got.Self, 5.75) {
		t.Errorf("the lab's clock could not be read: %+v", got)
	}
}

// No sum falls when a process ends or a file cannot be read.
func TestSumsNeverFall(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 2, 11: 1, 30: 4}
	f.thread(10, 10, 1, "11")
	f.write("10/statm", "1 1")
	f.write("stat", "cpu 100 0 0 0 0 0 0 10\n")
	f.write("pressure/cpu", "some total=500000\n")
	f.write("pressure/io", "some total=500000\n")
	f.write("11/stat", "11 (b) S 1 1 1 0 -1 0 0 0 0 0 0 25 0 0 20 0 1 0\n")
	s := NewSampler(f.source(), Processes{PID: 10, Self: 30})
	before := s.Read(1)
	delete(f.clocks, 11)
	f.remove("11")
	delete(f.clocks, 30)
	f.remove("stat")
	f.remove("pressure")
	f.remove("10")
	f.clocks[10] = 2.5
	after := s.Read(2)
	if !near(before.CPU, 3) || !near(after.CPU, 3.5) {
		t.Errorf("CPU %v s, then %v s; want 3 and, with the dead child's share, 3.5", before.CPU, after.CPU)
	}
	if after.Self != before.Self || after.Busy != before.Busy || after.Steal != before.Steal || after.Pressure != before.Pressure || after.Delay < before.Delay || after.PressureIO != before.PressureIO || before.System != 0.25 || after.System != before.System {
		t.Errorf("%+v became %+v", before, after)
	}
	if again := s.Read(3); again.CPU != after.CPU || again.System != after.System {
		t.Errorf("what the dead child used was forgotten: %+v became %+v", after, again)
	}
	if after.RSS != 0 {
		t.Errorf("a process that is gone holds %d bytes", after.RSS)
	}
}

func TestChildrenAreFoundLater(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 1, 11: 10, 12: 100}
	f.thread(10, 10, 0, "")
	s := NewSampler(f.source(), Processes{PID: 10})
	s.Read(0)
	f.thread(10, 10, 0, "11")
	f.thread(11, 11, 0, "12")
	var got Reading
	for k := range treeEvery {
		if got = s.Read(int64(k)); k < treeEvery-1 && got.CPU != 1 {
			t.Fatalf("looked for children at reading %d", k+1)
		}
	}
	if got.CPU != 111 {
		t.Errorf("CPU %v s, want that of the child and its child too", got.CPU)
	}
}

// On a busy machine, few readings are taken. Children are then searched for a second after the last
// search.
func TestChildrenAreFoundWhenReadingsAreMissed(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 1, 11: 10}
	f.thread(10, 10, 0, "")
	s := NewSampler(f.source(), Processes{PID: 10})
	s.Read(0)
	f.thread(10, 10, 0, "11")
	if got := s.Read(int64(900 * time.Millisecond)); got.CPU != 1 {
		t.Errorf("CPU %v s before a second is over", got.CPU)
	}
	if got := s.Read(int64(time.Second)); got.CPU != 11 {
		t.Errorf("CPU %v s, want that of the child too", got.CPU)
	}
}

func TestCPUWithoutAClock(t *testing.T) {
	f := newFakeHost(t)
	f.write("10/stat", "10 (a) S 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0\n")
	if got, ok := f.source().cpuTimes(10, false); !ok || !near(got.cpu, 2) || !near(got.system, 0.5) {
		t.Errorf("%+v, %v, want 1.5+0.5 s", got, ok)
	}
	f.clocks[10] = 2.004
	if got, ok := f.source().cpuTimes(10, true); !ok || !near(got.cpu, 2.004) || !near(got.system, 0.5) {
		t.Errorf("%+v, %v, want the clock's 2.004 s, 0.5 of them in the kernel", got, ok)
	}
	if _, ok := f.source().cpuTimes(11, true); ok {
		t.Error("a process that is not there has a CPU time")
	}
}

// With many threads, the delay arrives late and evenly spread, but all of it arrives.
func TestDelayOfManyThreads(t *testing.T) {
	f := newFakeHost(t)
	f.clocks[10] = 1
	threads := func(delay float64) {
		for tid := range manyThreads + 1 {
			f.thread(10, 10+tid, delay, "")
		}
	}
	threads(5)
	s := NewSampler(f.source(), Processes{PID: 10})
	s.Read(0)
	threads(5.2)
	want := 0.0
	for k := 1; k <= 2*manyEvery; k++ {
		got := s.Read(int64(k)).Delay
		if k >= manyEvery && k < 2*manyEvery {
			want += 0.2 * (manyThreads + 1) / manyEvery
		}
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("reading %d: %v s, want %v", k, got, want)
		}
	}
}

func TestFamilyIsBounded(t *testing.T) {
	f := newFakeHost(t)
	f.clocks[10] = 1
	var all []string
	for pid := 100; pid < 100+2*maxTree; pid++ {
		all = append(all, strconv.Itoa(pid))
		f.clocks[pid] = 1
	}
	f.thread(10, 10, 0, strings.Join(all, " "))
	s := NewSampler(f.source(), Processes{PID: 10})
	if got := s.Read(0); got.CPU != maxTree {
		t.Errorf("%v processes count as one, want at most %d", got.CPU, maxTree)
	}
}
