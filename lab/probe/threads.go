package probe

import (
	"bytes"
	"strconv"

	"dyno/lab/probe/procfs"
)

const (
	// manyThreads is from how many threads on their delay is read in every manyEvery-th reading only: a
	// read costs some 5 us, so 64 of them ten times a second are 0.3% of a core.
	manyThreads = 64
	manyEvery   = 5
	// slowEvery is how many readings apart what costs more is read, up to manyThreads threads at a time: a
	// thread's status takes the kernel 10 us and more to write.
	slowEvery = 10
)

// delays sums the run-queue delay of threads, which come and go.
type delays struct {
	last map[int]float64 // by thread, s; nil: not read yet
	sum  drip            // s
	many bool
}

// read returns the time that the family's threads have waited for a CPU, in s. With many threads they
// are read now and then.
func (d *delays) read(h host, f *family, count int) float64 {
	if d.many && count%manyEvery != 0 {
		return d.sum.next()
	}
	now := make(map[int]float64, len(d.last))
	grown := 0.0
	for pid := range f.members {
		for _, tid := range h.tasks(pid) {
			b, err := h.read(strconv.Itoa(pid), "task", strconv.Itoa(tid), "schedstat")
			if err != nil {
				continue // it has just ended
			}
			v, err := procfs.Delay(b)
			if err != nil {
				continue
			}
			now[tid] = v
			grown += max(0, v-d.last[tid])
		}
	}
	if d.last == nil {
		grown = 0 // what they waited before anybody watched
	}
	d.last = now
	over := 1
	if d.many = len(now) > manyThreads; d.many {
		over = manyEvery
	}
	d.sum.add(grown, over)
	return d.sum.next()
}

// halts is how often a thread stopped running, and how long it was stopped by a disk.
type halts struct {
	waits       float64 // it had nothing to do until something happened
	preemptions float64 // something else had the CPU
	blocked     float64 // s
}

// switches sums the halts of threads. What a thread did between the last time it was read and its end is
// not counted.
type switches struct {
	last                        map[int]halts // by thread; nil: not read yet
	waits, preemptions, blocked drip
	due                         int // the reading in which the threads are read again
}

// read returns the halts of the family's threads so far.
func (s *switches) read(h host, f *family, count int) halts {
	if count >= s.due {
		now := make(map[int]halts, len(s.last))
		var grown halts
		for pid := range f.members {
			for _, tid := range h.tasks(pid) {
				v, ok := h.halts(pid, tid)
				if !ok {
					continue // it has just ended
				}
				before := s.last[tid]
				now[tid] = v
				grown.waits += max(0, v.waits-before.waits)
				grown.preemptions += max(0, v.preemptions-before.preemptions)
				grown.blocked += max(0, v.blocked-before.blocked)
			}
		}
		if s.last == nil {
			grown = halts{} // from before anybody watched
		}
		s.last = now
		over := slowEvery * (1 + len(now)/manyThreads)
		s.due = count + over
		s.waits.add(grown.waits, over)
		s.preemptions.add(grown.preemptions, over)
		s.blocked.add(grown.blocked, over)
	}
	return halts{s.waits.next(), s.preemptions.next(), s.blocked.next()}
}

func (h host) halts(pid, tid int) (halts, bool) {
	process, thread := strconv.Itoa(pid), strconv.Itoa(tid)
	status, err := h.read(process, "task", thread, "status")
	if err != nil {
		return halts{}, false
	}
	waits, preemptions, err := procfs.Switches(status)
	if err != nil {
		return halts{}, false
	}
	out := halts{waits: float64(waits), preemptions: float64(preemptions)}
	if h.countsBlocked() {
		if stat, err := h.read(process, "task", thread, "stat"); err == nil {
			out.blocked, _ = procfs.BlockedIO(stat)
		}
	}
	return out, true
}

// countsBlocked reports whether the kernel counts how long threads wait for disks.
func (h host) countsBlocked() bool {
	on, err := h.read("sys", "kernel", "task_delayacct")
	return err != nil || !bytes.HasPrefix(on, []byte("0")) // before Linux 5.14 there was no switch
}
