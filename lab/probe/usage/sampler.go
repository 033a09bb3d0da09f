package usage

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"dyno/lab/probe/procfs"
	"dyno/lab/record"
)

// Source is what figures are read from. Tests make their own.
type Source struct {
	Root  string                             // folder that contains proc
	Clock func(pid int) (s float64, ok bool) // reads the CPU clock of a process
	// Queues lists the accept queues of all listening sockets; nil: they are not available.
	Queues func() []procfs.Queue
	// Connections lists the connections of this network namespace; nil: they are not available.
	Connections func() []procfs.Connection
}

// Here returns the Source that reads this machine.
func Here() Source {
	return Source{Root: "/", Clock: processClock, Queues: procfs.AcceptQueues, Connections: procfs.Connections}
}

// Processes names the processes to read. With the zero Processes, a Sampler reads only the machine.
type Processes struct {
	// PID is the target's process; its children count as part of it. 0: not known.
	PID int
	// Dependencies are processes that work for the target, with their children. The Sampler adds
	// processes on this machine that the target is connected to as a client.
	Dependencies []int
	// Self is the lab's own process, without its children. 0: a Sampler counts the CPU time of the
	// lab as that of others.
	Self int
	// GeneratorPIDs are processes that generate load for the lab. They and their children count as
	// part of Self.
	GeneratorPIDs []int
	// Counters makes the Sampler count the cache and TLB misses of the target, if that is permitted
	// and the processor has counters. It makes each context switch of the target more expensive, so
	// do not set it where latency is reported.
	Counters bool
	// Calls makes the Sampler count the target's connections that wait for an answer of another
	// process, which takes some 0.2 ms for each reading with 100 connections.
	Calls bool
}

func (h Source) read(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{h.Root, "proc"}, path...)...))
}

const (
	maxThreads = 4096 // threads of one process that are read
	maxTree    = 256  // processes of one tree
	// treeEvery is the number of readings from one search for children to the next: one second. A
	// child that lives less than that may be missed; its CPU time then counts as that of others.
	treeEvery = 10
	// searchAge is the maximum time from one search for children to the next, in ns.
	searchAge = int64(time.Second)
	// Numbers of the readings at which the Sampler looks for peers: the first one, peersFirst (in
	// the warm-up), peersSecond (a second later), and from then on every peersEvery-th (10 s). With
	// tens of thousands of connections on the machine, a search takes tens of ms.
	peersFirst, peersSecond, peersEvery = 3, 13, 100
)

// Sampler takes readings. One goroutine uses it.
type Sampler struct {
	from         Source
	cpus         []int // CPUs that the experiment may use; empty: all
	target       *processTree
	dependencies []*processTree
	self         int            // the lab's own process; 0: not known
	own          float64        // s, CPU time of self at the last reading
	generators   []*processTree // generate load for the lab
	peers        []*peer
	outgoing     record.Outgoing
	holders      map[uint64]bool // inodes of the listening sockets that peers were found by
	scheduled    scheduled
	switches     switches
	accepting    accepting
	calling      calling
	misses       *misses // nil: Counters is not set
	refused      int64   // listen overflows at the last reading; negative: never read
	overflows    smoother
	last         Reading
	count        int   // readings so far
	searched     int64 // when the trees were last searched for children, ns
	sees         Seen
}

// Seen says which figures could be read at least once.
type Seen struct{ Target, Machine, PressureCPU, PressureIO, Outgoing bool }

// NewSampler returns a Sampler of processes. If Counters is set, the caller must close it.
func NewSampler(from Source, p Processes) *Sampler {
	s := &Sampler{from: from, self: p.Self, refused: -1}
	if p.PID > 0 {
		s.target = newProcessTree(p.PID)
	}
	for _, pid := range p.GeneratorPIDs {
		s.generators = append(s.generators, newProcessTree(pid))
	}
	for _, pid := range p.Dependencies {
		s.dependencies = append(s.dependencies, newProcessTree(pid))
	}
	s.calling.wanted = p.Calls
	s.cpus = from.usableCPUs(append([]int{p.PID, p.Self}, p.Dependencies...))
	if s.target != nil && p.Counters {
		s.target.refresh(from)
		s.misses = countMisses(from, s.target)
	}
	return s
}

// Close closes the counters of cache and TLB misses.
func (s *Sampler) Close() { s.misses.close() }

// Sees returns which figures the readings so far contain.
func (s *Sampler) Sees() Seen { return s.sees }

// CPUs returns the number of CPUs whose busy and stolen time the readings sum up; 0: not known.
func (s *Sampler) CPUs() int { return len(s.cpus) }

// usableCPUs returns the CPUs that at least one of the processes may use; empty: all. An experiment
// in a container is not affected by activity on the other CPUs of a large machine.
func (h Source) usableCPUs(pids []int) []int {
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

// Read takes a reading at an instant (ns, monotonic). A sum that cannot be read keeps its last
// value, so that it never falls.
func (s *Sampler) Read(now int64) Reading {
	r := s.last
	r.At = now
	if s.count%treeEvery == 0 || now-s.searched >= searchAge { // a busy machine misses readings
		s.search(now)
	}
	if s.target != nil {
		s.readTarget(&r)
	}
	r.Dependencies = 0
	for _, f := range s.dependencies {
		r.Dependencies += f.cpuTimes(s.from, false).cpu
	}
	if s.count == 0 || s.count == peersFirst || s.count%peersEvery == peersSecond {
		s.findPeers(now)
	}
	for _, p := range s.peers {
		p.last = p.cpuTimes(s.from, false).cpu
		r.Dependencies += p.last - p.first
	}
	if s.self > 0 {
		if now, ok := s.from.cpuTimes(s.self, false); ok {
			s.own = now.cpu
		}
	}
	r.Self = s.own
	for _, h := range s.generators {
		r.Self += h.cpuTimes(s.from, false).cpu
	}
	s.readMachine(&r)
	s.last = r
	s.count++
	return r
}

// search looks for new children in every tree.
func (s *Sampler) search(now int64) {
	s.searched = now
	for _, f := range s.trees() {
		f.refresh(s.from)
	}
}

// trees returns the process trees of the target, its dependencies, their peers and the load
// generators.
func (s *Sampler) trees() []*processTree {
	out := append([]*processTree{s.target}, s.dependencies...)
	for _, p := range s.peers {
		out = append(out, p.processTree)
	}
	return append(out, s.generators...)
}

func (s *Sampler) readTarget(r *Reading) {
	now := s.target.cpuTimes(s.from, true)
	s.sees.Target = s.sees.Target || len(s.target.members) > 0
	r.CPU, r.System = now.cpu, now.system
	r.RSS = s.target.resident(s.from)
	r.Scheduling = s.scheduled.read(s.from, s.target, s.count)
	r.Calls = s.calling.read(s.from, s.target, s.count)
	r.Halts = s.switches.read(s.from, s.target, s.count)
	r.Accept = s.accepting.read(s.from, s.target, s.count)
	r.Cache, r.TLB = s.misses.read(s.count)
}

func (s *Sampler) readMachine(r *Reading) {
	if b, err := s.from.read("stat"); err == nil {
		if busy, steal, err := procfs.CPUTimes(b, s.cpus); err == nil && busy > 0 { // a sandbox may show zeros
			r.Busy, r.Steal, s.sees.Machine = busy, steal, true
		}
	}
	if total, ok := s.from.pressure("cpu"); ok {
		r.Pressure, s.sees.PressureCPU = total, true
	}
	if total, ok := s.from.pressure("io"); ok {
		r.PressureIO, s.sees.PressureIO = total, true
	}
	if s.count%slowEvery == 0 {
		s.readOverflows()
	}
	r.Overflows = s.overflows.next()
}

func (h Source) pressure(resource string) (s float64, ok bool) {
	b, err := h.read("pressure", resource)
	if err != nil {
		return 0, false
	}
	s, err = procfs.Pressure(b)
	return s, err == nil
}

// readOverflows reads the listen overflows of the target's network namespace: a container has its
// own.
func (s *Sampler) readOverflows() {
	path := []string{"net", "netstat"}
	if s.target != nil {
		path = append([]string{strconv.Itoa(s.target.root)}, path...)
	}
	b, err := s.from.read(path...)
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
