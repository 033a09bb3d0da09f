package usage

import (
	"os"

	"dyno/lab/probe/host"
	"dyno/lab/probe/procfs"
	"dyno/lab/record"
)

const (
	// maxPeers bounds the processes that count as dependencies because the target calls them.
	maxPeers = 32
	// maxFiles bounds the open files of a process that are searched for its connections.
	maxFiles = 1 << 20
)

// peer is a process that the target calls.
type peer struct {
	record.Peer
	*processTree
	since int64   // ns, of its first reading
	first float64 // s of CPU that it had used until then
	last  float64
}

// Peers returns the processes that the target calls, with the CPU that each used until an instant.
func (s *Sampler) Peers(now int64) (out []record.Peer) {
	for _, p := range s.peers {
		p.Peer.CPU = Rate(p.first, p.last, p.since, now)
		out = append(out, p.Peer)
	}
	return out
}

// findPeers searches for processes that the target calls, and for those that they call. They work
// for the target, so they do not count as other processes.
func (s *Sampler) findPeers(now int64) {
	if s.target == nil {
		return
	}
	for _, f := range s.trees() {
		// A tree's processes share a network. Reading the table for each of a database's hundreds of
		// processes would take seconds.
		inodes := map[uint64]bool{}
		for _, pid := range f.pids() {
			for inode := range procfs.Held(s.from.Root, pid, maxFiles) {
				inodes[inode] = true
			}
		}
		s.findPeersOf(f.root, inodes, now)
	}
}

func (s *Sampler) findPeersOf(pid int, inodes map[uint64]bool, now int64) {
	for _, l := range procfs.Called(s.from.Root, pid, inodes) {
		if s.holders[l.Inode] || len(s.holders) >= maxPeers {
			continue
		}
		if s.holders == nil {
			s.holders = map[uint64]bool{}
		}
		s.holders[l.Inode] = true
		if other := procfs.Holder(s.from.Root, l.Inode); other != 0 && !s.known(other) {
			p := &peer{processTree: newProcessTree(other), since: now}
			p.refresh(s.from)
			p.first = p.cpuTimes(s.from, false).cpu
			p.last = p.first
			name := host.ProgramOf(other).Name
			p.Peer = record.Peer{PID: other, Program: name, Address: l.Address.String()}
			s.peers = append(s.peers, p)
		}
	}
}

// known reports whether a process is counted already: as the target, a dependency, the lab or a
// peer.
func (s *Sampler) known(pid int) bool {
	if pid == os.Getpid() || pid == s.self {
		return true
	}
	for _, f := range s.trees() {
		if f == nil {
			continue
		}
		if _, is := f.members[pid]; is {
			return true
		}
	}
	return false
}
