package usage

import "dyno/lab/probe/procfs"

const (
	// acceptEvery is the number of readings from one reading of the accept queues to the next. The
	// kernel lists its listening sockets in some 0.1 ms (/proc/net/tcp lists all sockets, in 2 ms).
	acceptEvery = 2
	// maxClaims is the maximum number of open files of a process that are searched for its
	// connections and for its listeners, which are among the first files that it opens.
	maxClaims = 4096
)

// accepting finds the longest accept queue of a process tree.
type accepting struct {
	own  map[uint64]bool // by inode of a listening socket: whether the process tree has it open
	last procfs.Queue
}

// read returns the longest accept queue of the process tree. It reads the queues in every
// acceptEvery-th call, and returns the previous result in the others.
func (a *accepting) read(h Source, f *processTree, count int) procfs.Queue {
	if h.Queues == nil || count%acceptEvery != 0 {
		return a.last
	}
	a.last = procfs.Queue{}
	known := make(map[uint64]bool, len(a.own))
	unknown := map[uint64]bool{}
	for _, q := range h.Queues() {
		mine, asked := a.own[q.Inode]
		if !asked {
			unknown[q.Inode] = true
			continue
		}
		known[q.Inode] = mine
		if mine && (a.last.Inode == 0 || q.Length > a.last.Length) {
			a.last = q
		}
	}
	a.own = known
	if len(unknown) > 0 && count%treeEvery == 0 {
		for inode := range unknown {
			known[inode] = false
		}
		for pid := range f.members {
			for inode := range procfs.Held(h.Root, pid, maxClaims) {
				if unknown[inode] {
					known[inode] = true
				}
			}
		}
	}
	return a.last
}
