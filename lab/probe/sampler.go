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
	// queues lists the accept queues of all listening sockets; nil: they cannot be seen.
	queues func() []acceptQueue
}

func (h host) read(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{h.root, "proc"}, path...)...))
}

// used is the CPU time of a process with all its threads, those that ended among them, in s.
type used struct{ cpu, system float64 } // system: what of cpu was spent in the kernel

// used reads it; false: there is no such process. A CPU clock counts ns and /proc hundredths of a second,
// but only /proc, which takes longer to read, tells the kernel's part: it is left out unless split is true.
func (h host) used(pid int, split bool) (used, bool) {
	cpu, timed := h.clock(pid)
	if timed && !split {
		return used{cpu: cpu}, true
	}
	stat, err := h.read(strconv.Itoa(pid), "stat")
	if err != nil {
		return used{cpu: cpu}, timed
	}
	total, system, err := procfs.ProcessCPU(stat)
	if err != nil {
		return used{cpu: cpu}, timed
	}
	if !timed {
		cpu = total
	}
	return used{cpu, system}, true
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
	// Connections of the target are looked at when it is first read, in the warm-up, a second later, and then every
	// 10 s: on a machine with tens of thousands of connections that takes tens of ms.
	peersFirst, peersSecond, peersEvery = 3, 13, 100
)

// sampler takes readings. It is used by one goroutine.
type sampler struct {
	host
	cpus       []int // that the experiment may use
	target     *family
	companions []*family
	self       int // the lab's own process; 0: not known
	peers      []*peer
	holders    map[uint64]bool // sockets' inodes at which those listen that the target calls
	delay      delays
	switches   switches
	accepting  accepting
	misses     *misses // nil: not asked for
	refused    int64   // listen overflows as last read; below 0: never
	overflows  drip
	last       reading
	count      int // of readings so far

	seesTarget, seesMachine, seesPressure, seesPressureIO bool // at least once
}

func newSampler(h host, o Options) *sampler {
	s := &sampler{host: h, self: o.Self, refused: -1}
	if o.PID > 0 {
		s.target = newFamily(o.PID)
	}
	for _, pid := range o.Companions {
		s.companions = append(s.companions, newFamily(pid))
	}
	s.cpus = s.usableCPUs(append([]int{o.PID, o.Self}, o.Companions...))
	if s.target != nil && o.Counters {
		s.target.refresh(h)
		s.misses = countMisses(h, s.target)
	}
	return s
}

func (s *sampler) close() { s.misses.close() }

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
		for _, f := range s.families() {
			f.refresh(s.host)
		}
	}
	if s.target != nil {
		s.readTarget(&r)
	}
	r.companions = 0
	for _, f := range s.companions {
		r.companions += f.used(s.host, false).cpu
	}
	if s.count == 0 || s.count == peersFirst || s.count%peersEvery == peersSecond {
		s.findPeers(now)
	}
	for _, p := range s.peers {
		p.last = p.used(s.host, false).cpu
		r.companions += p.last - p.first
	}
	if s.self > 0 {
		if now, ok := s.used(s.self, false); ok {
			r.self = now.cpu
		}
	}
	s.readMachine(&r)
	s.last = r
	s.count++
	return r
}

// families are the target, what was started beside it, and what these call.
func (s *sampler) families() []*family {
	out := append([]*family{s.target}, s.companions...)
	for _, p := range s.peers {
		out = append(out, p.family)
	}
	return out
}

func (s *sampler) readTarget(r *reading) {
	now := s.target.used(s.host, true)
	s.seesTarget = s.seesTarget || len(s.target.members) > 0
	r.cpu, r.system = now.cpu, now.system
	r.rss = s.target.resident(s.host)
	r.delay = s.delay.read(s.host, s.target, s.count)
	r.halts = s.switches.read(s.host, s.target, s.count)
	r.accept = s.accepting.read(s.host, s.target, s.count)
	r.cache, r.tlb = s.misses.read(s.count)
}

func (s *sampler) readMachine(r *reading) {
	if b, err := s.host.read("stat"); err == nil {
		if busy, steal, err := procfs.CPUTimes(b, s.cpus); err == nil && busy > 0 { // a sandbox may show zeros
			r.busy, r.steal, s.seesMachine = busy, steal, true
		}
	}
	if total, ok := s.pressure("cpu"); ok {
		r.pressure, s.seesPressure = total, true
	}
	if total, ok := s.pressure("io"); ok {
		r.pressureIO, s.seesPressureIO = total, true
	}
	if s.count%slowEvery == 0 {
		s.readOverflows()
	}
	r.overflows = s.overflows.next()
}

func (h host) pressure(resource string) (s float64, ok bool) {
	b, err := h.read("pressure", resource)
	if err != nil {
		return 0, false
	}
	s, err = procfs.Pressure(b)
	return s, err == nil
}

// readOverflows reads them where the target is: a container has a network of its own.
func (s *sampler) readOverflows() {
	path := []string{"net", "netstat"}
	if s.target != nil {
		path = append([]string{strconv.Itoa(s.target.root)}, path...)
	}
	b, err := s.host.read(path...)
	if err != nil {
		return
	}
	n, err := procfs.ListenOverflows(b)
	if err != nil {
		return
	}
	if s.refused >= 0 {
		s.overflows.add(float64(max(0, n-s.refused)), slowEvery)
	}
	s.refused = n
}

// family is a process with its descendants, as one that forks its workers. A descendant counts from
// when it is first seen until it ends, and what it used stays in the sum.
type family struct {
	root    int
	members map[int]used // as last read
	gone    used         // of members that have ended
}

func newFamily(root int) *family { return &family{root: root, members: map[int]used{root: {}}} }

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
					f.members[child] = used{}
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

// used is the CPU time that the family has used, split on request.
func (f *family) used(h host, split bool) used {
	sum := f.gone
	for pid, last := range f.members {
		now, alive := h.used(pid, split)
		if !alive {
			f.gone.cpu += last.cpu
			f.gone.system += last.system
			delete(f.members, pid)
			now = used{}
		} else {
			f.members[pid] = used{max(now.cpu, last.cpu), max(now.system, last.system)}
		}
		sum.cpu += max(now.cpu, last.cpu)
		sum.system += max(now.system, last.system)
	}
	return sum
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
