package usage

import (
	"bytes"
	"strconv"

	"dyno/lab/probe/procfs"
)

const (
	// manyThreads is the number of threads above which their scheduling is read only in every
	// manyEvery-th reading. Reading a thread takes some 5 us, so 64 threads ten times a second take
	// 0.3% of a core.
	manyThreads = 64
	manyEvery   = 5
	// slowEvery is the number of readings from one reading of more expensive figures to the next;
	// with more threads than manyThreads, the number is a multiple of it. The kernel takes 10 us or
	// more to write the status of a thread.
	slowEvery = 10
)

// Scheduling holds what the scheduler did with threads, in s.
type Scheduling struct {
	Delay float64 // how long all threads together were runnable but waited for a CPU
	// Thread is how long the busiest thread ran or waited for a CPU, and Process how long the
	// threads of the busiest process did. Which thread and process are the busiest may change from
	// reading to reading.
	Thread, Process float64
}

// scheduled sums the scheduling of threads, which may start and end meanwhile.
type scheduled struct {
	last                   map[int]ranDelayed // by thread; nil: not read yet
	delay, thread, process smoother
	many                   bool
}

// ranDelayed is how long a thread ran and how long it waited for a CPU, in s.
type ranDelayed struct{ ran, delayed float64 }

// read returns the scheduling of the threads of a tree so far. It reads many threads less often.
func (d *scheduled) read(h Source, f *processTree, count int) Scheduling {
	if d.many && count%manyEvery != 0 {
		return d.next()
	}
	now := make(map[int]ranDelayed, len(d.last))
	var grown Scheduling
	for pid := range f.members {
		process := 0.0
		for _, tid := range h.tasks(pid) {
			v, ok := h.scheduled(pid, tid)
			if !ok {
				continue // the thread has just ended
			}
			now[tid] = v
			delayed := max(0, v.delayed-d.last[tid].delayed)
			wanted := delayed + max(0, v.ran-d.last[tid].ran)
			grown.Delay += delayed
			grown.Thread = max(grown.Thread, wanted)
			process += wanted
		}
		grown.Process = max(grown.Process, process)
	}
	if d.last == nil {
		grown = Scheduling{} // from before the readings began
	}
	d.last = now
	over := 1
	if d.many = len(now) > manyThreads; d.many {
		over = manyEvery
	}
	d.delay.add(grown.Delay, over)
	d.thread.add(grown.Thread, over)
	d.process.add(grown.Process, over)
	return d.next()
}

func (d *scheduled) next() Scheduling {
	return Scheduling{Delay: d.delay.next(), Thread: d.thread.next(), Process: d.process.next()}
}

// scheduled reads how long a thread ran and how long it waited for a CPU.
func (h Source) scheduled(pid, tid int) (v ranDelayed, ok bool) {
	b, err := h.read(strconv.Itoa(pid), "task", strconv.Itoa(tid), "schedstat")
	if err == nil {
		v.ran, v.delayed, err = procfs.Scheduled(b)
	}
	return v, err == nil
}

// delayed sums how long the present threads of a tree have waited for a CPU.
func (h Source) delayed(f *processTree) (sum float64) {
	for pid := range f.members {
		for _, tid := range h.tasks(pid) {
			if v, ok := h.scheduled(pid, tid); ok {
				sum += v.delayed
			}
		}
	}
	return sum
}

// Halts counts how often threads stopped running, and how long they waited for disks.
type Halts struct {
	Waits       float64 // voluntary: the thread waited for an event
	Preemptions float64 // involuntary: the kernel gave the CPU to another thread
	Blocked     float64 // s
}

// switches sums the halts of threads. It misses the halts of a thread between the last reading and
// its end.
type switches struct {
	last                        map[int]Halts // by thread; nil: not read yet
	waits, preemptions, blocked smoother
	due                         int // number of the reading that reads the threads next
}

// read returns the halts of the threads of a tree so far.
func (s *switches) read(h Source, f *processTree, count int) Halts {
	if count >= s.due {
		now := make(map[int]Halts, len(s.last))
		var grown Halts
		for pid := range f.members {
			for _, tid := range h.tasks(pid) {
				v, ok := h.halts(pid, tid)
				if !ok {
					continue // the thread has just ended
				}
				before := s.last[tid]
				now[tid] = v
				grown.Waits += max(0, v.Waits-before.Waits)
				grown.Preemptions += max(0, v.Preemptions-before.Preemptions)
				grown.Blocked += max(0, v.Blocked-before.Blocked)
			}
		}
		if s.last == nil {
			grown = Halts{} // halts from before the readings began
		}
		s.last = now
		over := slowEvery * (1 + len(now)/manyThreads)
		s.due = count + over
		s.waits.add(grown.Waits, over)
		s.preemptions.add(grown.Preemptions, over)
		s.blocked.add(grown.Blocked, over)
	}
	return Halts{s.waits.next(), s.preemptions.next(), s.blocked.next()}
}

func (h Source) halts(pid, tid int) (Halts, bool) {
	process, thread := strconv.Itoa(pid), strconv.Itoa(tid)
	status, err := h.read(process, "task", thread, "status")
	if err != nil {
		return Halts{}, false
	}
	waits, preemptions, err := procfs.Switches(status)
	if err != nil {
		return Halts{}, false
	}
	out := Halts{Waits: float64(waits), Preemptions: float64(preemptions)}
	if h.countsBlocked() {
		if stat, err := h.read(process, "task", thread, "stat"); err == nil {
			out.Blocked, _ = procfs.BlockedIO(stat)
		}
	}
	return out, true
}

// countsBlocked reports whether the kernel counts how long threads wait for disks.
func (h Source) countsBlocked() bool {
	on, err := h.read("sys", "kernel", "task_delayacct")
	return err != nil || !bytes.HasPrefix(on, []byte("0")) // before Linux 5.14 there was no switch
}
