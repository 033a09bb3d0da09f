package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"dyno/lab/probe/procfs"
)

// host is the machine on which processes are looked up.
type host struct {
	root  string                             // folder that contains proc; "/" except in tests
	clock func(pid int) (s float64, ok bool) // a process's own CPU clock
	// queues lists the accept queues of all listening sockets; nil: they are not available.
	queues func() []acceptQueue
}

func (h host) read(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{h.root, "proc"}, path...)...))
}

// cpuTimes is the CPU time of a process with all its threads, including ended ones, in s.
type cpuTimes struct{ cpu, system float64 } // system: the part of cpu spent in the kernel

// cpuTimes reads the CPU time of a process; false: there is no such process. A CPU clock counts
// ns and /proc hundredths of a second, but only /proc, which takes longer to read, has the
// kernel's part: it is left out unless split is true.
func (h host) cpuTimes(pid int, split bool) (cpuTimes, bool) {
	cpu, timed := h.clock(pid)
	if timed && !split {
		return cpuTimes{cpu: cpu}, true
	}
	stat, err := h.read(strconv.Itoa(pid), "stat")
	if err != nil {
		return cpuTimes{cpu: cpu}, timed
	}
	total, system, err := procfs.ProcessCPU(stat)
	if err != nil {
		return cpuTimes{cpu: cpu}, timed
	}
	if !timed {
		cpu = total
	}
	return cpuTimes{cpu, system}, true
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
	maxThreads = 4096 // threads of one process that are read
	maxTree    = 256  // processes that are counted as one
	// treeEvery is the interval between searches for children, in readings: one second. A child
	// that lived for less may be missed; its CPU time then counts as others'.
	treeEvery = 10
	// The target's connections are read at its first reading, in the warm-up, a second later, and
	// then every 10 s: on a machine with tens of thousands of connections that takes tens of ms.
	peersFirst, peersSecond, peersEvery = 3, 13, 100
)

// sampler takes readings. One goroutine uses it.
type sampler struct {
	host
	cpus       []int // CPUs that the experiment may use
	target     *processTree
	companions []*processTree
	self       int // the lab's own process; 0: not known
	peers      []*peer
	holders    map[uint64]bool // inodes of the listening sockets that the target calls
	delay      delays
	switches   switches
	accepting  accepting
	misses     *misses // nil: not wanted
	refused    int64   // listen overflows at the last reading; below 0: never read
	overflows  smoother
	last       reading
	count      int   // readings so far
	searched   int64 // when the trees were last searched for children, ns

	seesTarget, seesMachine, seesPressure, seesPressureIO bool // at least once
}

func newSampler(h host, o Options) *sampler {
	s := &sampler{host: h, self: o.Self, refused: -1}
	if o.PID > 0 {
		s.target = newProcessTree(o.PID)
	}
	for _, pid := range o.Companions {
		s.companions = append(s.companions, newProcessTree(pid))
	}
	s.cpus = s.usableCPUs(append([]int{o.PID, o.Self}, o.Companions...))
	if s.target != nil && o.Counters {
		s.target.refresh(h)
		s.misses = countMisses(h, s.target)
	}
	return s
}

func (s *sampler) close() { s.misses.close() }

// usableCPUs returns the CPUs that at least one of the processes may use: activity on the other
// CPUs of a large machine does not affect an experiment in a container. Empty: all.
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

// read takes a reading. A figure that cannot be read keeps its last value, so that a sum never
// falls.
func (s *sampler) read(now int64) reading {
	r := s.last
	r.at = now
	if s.count%treeEvery == 0 || now-s.searched >= treeEvery*window { // on a busy machine readings are missed
		s.searched = now
		for _, f := range s.trees() {
			f.refresh(s.host)
		}
	}
	if s.target != nil {
		s.readTarget(&r)
	}
	r.companions = 0
	for _, f := range s.companions {
		r.companions += f.cpuTimes(s.host, false).cpu
	}
	if s.count == 0 || s.count == peersFirst || s.count%peersEvery == peersSecond {
		s.findPeers(now)
	}
	for _, p := range s.peers {
		p.last = p.cpuTimes(s.host, false).cpu
		r.companions += p.last - p.first
	}
	if s.self > 0 {
		if now, ok := s.cpuTimes(s.self, false); ok {
			r.self = now.cpu
		}
	}
	s.readMachine(&r)
	s.last = r
	s.count++
	return r
}

// trees returns the process trees of the target, of its companions, and of their peers.
func (s *sampler) trees() []*processTree {
	out := append([]*processTree{s.target}, s.companions...)
	for _, p := range s.peers {
		out = append(out, p.processTree)
	}
	return out
}

func (s *sampler) readTarget(r *reading) {
	now := s.target.cpuTimes(s.host, true)
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

// readOverflows reads the overflows in the target's network namespace: a container has its own.
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

// processTree is a process with its descendants, such as forked workers. A descendant counts from
// its first reading until it ends, and its CPU time stays in the sum.
type processTree struct {
	root    int
	members map[int]cpuTimes // at the last reading
	gone    cpuTimes         // sum of members that have ended
}

func newProcessTree(root int) *processTree {
	return &processTree{root: root, members: map[int]cpuTimes{root: {}}}
}

// refresh searches for new descendants. Children of a member stay members when that member ends.
func (f *processTree) refresh(h host) {
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
			for _, child := range procfs.IDs(children, maxTree) {
				if _, known := f.members[child]; !known && len(f.members) < maxTree {
					f.members[child] = cpuTimes{}
					queue = append(queue, child)
				}
			}
		}
	}
}

func (f *processTree) pids() []int {
	out := make([]int, 0, len(f.members))
	for pid := range f.members {
		out = append(out, pid)
	}
	return out
}

// cpuTimes returns the CPU time that the tree has used, split on request.
func (f *processTree) cpuTimes(h host, split bool) cpuTimes {
	sum := f.gone
	for pid, last := range f.members {
		now, alive := h.cpuTimes(pid, split)
		if !alive {
			f.gone.cpu += last.cpu
			f.gone.system += last.system
			delete(f.members, pid)
			now = cpuTimes{}
		} else {
			f.members[pid] = cpuTimes{max(now.cpu, last.cpu), max(now.system, last.system)}
		}
		sum.cpu += max(now.cpu, last.cpu)
		sum.system += max(now.system, last.system)
	}
	return sum
}

// resident returns the memory of the tree, in bytes; pages that members share count for each.
func (f *processTree) resident(h host) int64 {
	sum := int64(0)
	for pid := range f.members {
		if b, err := h.read(strconv.Itoa(pid), "statm"); err == nil {
			pages, _ := procfs.Resident(b)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}
