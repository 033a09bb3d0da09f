package usage

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// status writes the files of a thread that say how often it has halted, and how long it has waited
// for a disk, in 1/100 s.
func (f *fakeHost) status(pid, tid, waits, preemptions, blocked int) {
	dir := fmt.Sprintf("%d/task/%d/", pid, tid)
	f.write(dir+"status", fmt.Sprintf("Name:\ta\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n", waits, preemptions))
	f.write(dir+"stat", fmt.Sprintf("%d (a) S %s%d 0\n", tid, strings.Repeat("0 ", 38), blocked))
}

func TestSwitches(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 1, 11: 1}
	f.thread(10, 10, 0, "11")
	f.thread(11, 11, 0, "")
	f.status(10, 10, 1000, 500, 100)
	f.status(11, 11, 10, 5, 0)
	f.write("sys/kernel/task_delayacct", "1\n")
	s := NewSampler(f.source(), Processes{PID: 10})
	if got := s.Read(0).Halts; got != (Halts{}) {
		t.Errorf("%+v from before anybody watched", got)
	}
	f.status(10, 10, 1040, 500, 150)
	f.thread(10, 12, 0, "")
	f.status(10, 12, 7, 3, 0) // a new thread
	f.remove("11/task")       // the child's thread ended
	var got Halts
	for k := 1; k < 2*slowEvery; k++ {
		if got = s.Read(int64(k)).Halts; k < slowEvery && got != (Halts{}) {
			t.Fatalf("threads were looked at in reading %d: %+v", k, got)
		}
	}
	if !near(got.Waits, 47) || !near(got.Preemptions, 3) || !near(got.Blocked, 0.5) {
		t.Errorf("%+v, want 40 waits and 7 of the new thread, its 3 preemptions, 0.5 s", got)
	}
}

// delayed sums over the present threads of the whole tree.
func TestDelayed(t *testing.T) {
	f := newFakeHost(t)
	f.clocks = map[int]float64{10: 1, 11: 1}
	f.thread(10, 10, 0.5, "11")
	f.thread(10, 12, 0.25, "")
	f.thread(11, 11, 1, "")
	s := NewSampler(f.source(), Processes{PID: 10})
	s.search(0)
	if got := s.from.delayed(s.target); !near(got, 1.75) {
		t.Errorf("%g s", got)
	}
	f.remove("10/task/12") // it ended
	if got := s.from.delayed(s.target); !near(got, 1.5) {
		t.Errorf("%g s", got)
	}
}

func TestBlockedIsReadOnlyWhereItIsCounted(t *testing.T) {
	f := newFakeHost(t)
	f.status(10, 10, 1, 1, 100)
	if got, ok := f.source().halts(10, 10); !ok || !near(got.Blocked, 1) {
		t.Errorf("before there was a switch: %+v, %v", got, ok)
	}
	f.write("sys/kernel/task_delayacct", "0\n")
	if got, ok := f.source().halts(10, 10); !ok || got.Blocked != 0 || got.Waits != 1 {
		t.Errorf("switched off: %+v, %v", got, ok)
	}
}

// The more threads there are, the less often they are read; no halt is lost.
func TestSwitchesOfManyThreads(t *testing.T) {
	f := newFakeHost(t)
	f.clocks[10] = 1
	threads := func(waits int) {
		for tid := range 2*manyThreads + 1 {
			f.thread(10, 10+tid, 0, "")
			f.status(10, 10+tid, waits, 0, 0)
		}
	}
	threads(5)
	s := NewSampler(f.source(), Processes{PID: 10})
	s.Read(0)
	threads(8)
	got, early := 0.0, false
	for k := 1; k < 6*slowEvery; k++ {
		got = s.Read(int64(k)).Halts.Waits
		early = early || k < 3*slowEvery && got > 0
	}
	if want := 3 * (2*manyThreads + 1.0); !near(got, want) || early {
		t.Errorf("%v waits, want %v; looked at too early: %v", got, want, early)
	}
}

// The reported sum never falls, never exceeds the true one, and reaches it after one period.
func TestDrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d smoother
		truth, last := 0.0, 0.0
		for range rapid.IntRange(1, 5).Draw(t, "periods") {
			grown := rapid.Float64Range(0, 1e6).Draw(t, "grown")
			over := rapid.IntRange(1, 20).Draw(t, "over")
			before := truth
			truth += grown
			d.add(grown, over)
			for range rapid.IntRange(0, 25).Draw(t, "readings") {
				now := d.next()
				if now < last-1e-6 || now < before-1e-6 || now > truth+1e-6 {
					t.Fatalf("%v after %v, between %v and %v", now, last, before, truth)
				}
				last = now
			}
		}
		for range 20 {
			last = d.next()
		}
		if diff := last - truth; diff > 1e-6 || diff < -1e-6 {
			t.Fatalf("%v in the end, want %v", last, truth)
		}
	})
}

func TestListenOverflowsSinceWatching(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		options    Processes
	}{
		{"where the target is", "10/net/netstat", Processes{PID: 10}},
		{"here", "net/netstat", Processes{}},
	} {
		f := newFakeHost(t)
		f.clocks[10] = 1
		overflows := func(n int) { f.write(tt.path, fmt.Sprintf("TcpExt: TW ListenOverflows\nTcpExt: 1 %d\n", n)) }
		overflows(100)
		s := NewSampler(f.source(), tt.options)
		s.Read(0)
		overflows(130)
		var got float64
		for k := 1; k < 2*slowEvery; k++ {
			got = s.Read(int64(k)).Overflows
		}
		if !near(got, 30) {
			t.Errorf("%s: %v, want 30", tt.name, got)
		}
	}
}
