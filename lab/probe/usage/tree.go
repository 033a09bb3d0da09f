package usage

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"dyno/lab/probe/procfs"
)

// cpuTimes is the CPU time of a process, including its ended threads, in s.
type cpuTimes struct{ cpu, system float64 } // system is the part of cpu spent in the kernel

// cpuTimes reads the CPU time of a process; false: there is no such process. The CPU clock counts
// in ns, /proc in hundredths of a second. But only /proc has the part spent in the kernel, and it
// takes longer to read, so that part is 0 unless split is true or there is no clock.
func (h Source) cpuTimes(pid int, split bool) (cpuTimes, bool) {
	cpu, timed := h.Clock(pid)
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
func (h Source) tasks(pid int) []int {
	entries, err := os.ReadDir(filepath.Join(h.Root, "proc", strconv.Itoa(pid), "task"))
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

// processTree is a process with its descendants, such as forked workers. A descendant counts from
// when it is found until it ends; its CPU time stays in the sum.
type processTree struct {
	root    int
	members map[int]cpuTimes // at the last reading
	gone    cpuTimes         // sum over the members that have ended
}

func newProcessTree(root int) *processTree {
	return &processTree{root: root, members: map[int]cpuTimes{root: {}}}
}

// refresh looks for new descendants. The children of a member stay members when it ends.
func (f *processTree) refresh(h Source) {
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

func (f *processTree) pids() []int { return slices.Collect(maps.Keys(f.members)) }

// cpuTimes returns the CPU time that the tree has used; split is that of Source.cpuTimes.
func (f *processTree) cpuTimes(h Source, split bool) cpuTimes {
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

// resident returns the resident memory of the tree, in bytes. Pages that several members share
// count once for each.
func (f *processTree) resident(h Source) int64 {
	sum := int64(0)
	for pid := range f.members {
		if b, err := h.read(strconv.Itoa(pid), "statm"); err == nil {
			pages, _ := procfs.Resident(b)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}
