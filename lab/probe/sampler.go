package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"dyno/lab/probe/procfs"
)

// host is where processes are looked up.
type host struct {
	root  string                             // holds proc; "/" but in tests
	clock func(pid int) (s float64, ok bool) // a process's own CPU clock
}

func (h host) read(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{h.root, "proc"}, path...)...))
}

// cpu is the CPU time that a process has used with all its threads, those that ended among them, in s.
// Its CPU clock counts ns; /proc, where there is no clock, counts hundredths of a second.
func (h host) cpu(pid int) (float64, bool) {
	if s, ok := h.clock(pid); ok {
		return s, true
	}
	stat, err := h.read(strconv.Itoa(pid), "stat")
	if err != nil {
		return 0, false
	}
	s, err := procfs.ProcessCPU(stat)
	return s, err == nil
}

// tasks lists the threads of a process.
func (h host) tasks(pid int) []int {
	entries, err := os.ReadDir(filepath.Join(h.root, "proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries[:min(len(entries), maxThreads)] {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, tid)
		}
	}
	return out
}

const (
	maxThreads = 4096 // of one process that are looked at
	maxFamily  = 256  // processes that are counted as one
	// familyEvery is how many readings apart children are looked for: each second. A child that lived
	// for less may be missed; what it used then counts as others'.
	familyEvery = 10
	// manyThreads is from how many threads on they are read in every manyEvery-th reading only: a read
	// costs some 5 us, so 64 of them ten times a second are 0.3% of a core.
	manyThreads = 64
	manyEvery   = 5
)

// sampler takes readings. It is used by one goroutine.
type sampler struct {
	host
	cpus       []int // that the experiment may use
	target     *family
	companions []*family
	self       int
	delay      delays
	last       reading
	count      int // of readings so far

	seesTarget, seesMachine, seesPressure bool // at least once
}

func newSampler(h host, o Options) *sampler {
	s := &sampler{host: h, self: o.Self}
	if o.PID > 0 {
		s.target = newFamily(o.PID)
	}
	for _, pid := range o.Companions {
		s.companions = append(s.companions, newFamily(pid))
	}
	s.cpus = s.usableCPUs(append([]int{o.PID, o.Self}, o.Companions...))
	return s
}

// usableCPUs are those that at least one of the processes may use: what happens on the other CPUs of a
// big machine is no concern of an experiment in a container. Empty: all.
func (h host) usableCPUs(pids []int) []int {
	var out []int
	for _, pid := range pids {
		status, err := h.read(strconv.Itoa(pid), "status")
		if pid <= 0 || err != nil {
			continue
		}
		if cpus, err := procfs.AllowedCPUs(status); err == nil {
			out = append(out, cpus...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// read takes a reading. What cannot be read keeps its last value, so that a sum never falls.
func (s *sampler) read(now int64) reading {
	r := s.last
	r.at = now
	if s.count%familyEvery == 0 {
		for _, f := range append([]*family{s.target}, s.companions...) {
			f.refresh(s.host)
		}
	}
	if s.target != nil {
		r.cpu = s.target.cpu(s.host)
		s.seesTarget = s.seesTarget || len(s.target.members) > 0
		r.rss = s.target.resident(s.host)
		r.delay = s.delay.read(s.host, s.target, s.count)
	}
	r.companions = 0
	for _, f := range s.companions {
		r.companions += f.cpu(s.host)
	}
	if used, ok := s.cpu(s.self); ok && s.self > 0 {
		r.self = used
	}
	s.readMachine(&r)
	s.last = r
	s.count++
	return r
}

func (s *sampler) readMachine(r *reading) {
	if b, err := s.host.read("stat"); err == nil {
		if busy, steal, err := procfs.CPUTimes(b, s.cpus); err == nil && busy > 0 { // a sandbox may show zeros
			r.busy, r.steal, s.seesMachine = busy, steal, true
		}
	}
	if b, err := s.host.read("pressure", "cpu"); err == nil {
		if total, err := procfs.Pressure(b); err == nil {
			r.pressure, s.seesPressure = total, true
		}
	}
}

// family is a process with its descendants, as one that forks its workers. A descendant counts from
// when it is first seen until it ends, and what it used stays in the sum.
type family struct {
	root    int
	members map[int]float64 // CPU time as last read, s
	gone    float64         // s, of members that have ended
}

func newFamily(root int) *family { return &family{root: root, members: map[int]float64{root: 0}} }

// refresh looks for new descendants. Children of a member stay members when that member ends.
func (f *family) refresh(h host) {
	if f == nil {
		return
	}
	for queue := f.pids(); len(queue) > 0; {
		pid := queue[0]
		queue = queue[1:]
		for _, tid := range h.tasks(pid) {
			children, err := h.read(strconv.Itoa(pid), "task", strconv.Itoa(tid), "children")
			if err != nil {
				continue
			}
			for _, child := range procfs.IDs(children, maxFamily) {
				if _, known := f.members[child]; !known && len(f.members) < maxFamily {
					f.members[child] = 0
					queue = append(queue, child)
				}
			}
		}
	}
}

func (f *family) pids() []int {
	out := make([]int, 0, len(f.members))
	for pid := range f.members {
		out = append(out, pid)
	}
	return out
}

// cpu is the CPU time that the family has used, in s.
func (f *family) cpu(h host) float64 {
	sum := 0.0
	for pid, last := range f.members {
		now, alive := h.cpu(pid)
		if !alive {
			f.gone += last
			delete(f.members, pid)
			continue
		}
		f.members[pid] = max(now, last)
		sum += f.members[pid]
	}
	return sum + f.gone
}

// resident is the memory the family holds, in bytes; pages that members share count for each.
func (f *family) resident(h host) int64 {
	sum := int64(0)
	for pid := range f.members {
		if b, err := h.read(strconv.Itoa(pid), "statm"); err == nil {
			pages, _ := procfs.Resident(b)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}

// delays sums the run-queue delay of threads, which come and go.
type delays struct {
	last map[int]float64 // by thread, s; nil: not read yet
	sum  float64         // s
	drip float64         // s still to be added, in equal parts, before the threads are read again
	many bool
}

// read returns the time that the family's threads have waited for a CPU, in s. With many threads they
// are read now and then, and what they waited since is spread over the readings that follow, half a
// second late.
func (d *delays) read(h host, f *family, count int) float64 {
	if d.many && count%manyEvery != 0 {
		d.sum += d.drip
		return d.sum
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
	if d.many = len(now) > manyThreads; d.many {
		d.drip = grown / manyEvery
		grown = d.drip
	}
	d.sum += grown
	return d.sum
}
