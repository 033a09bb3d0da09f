package usage

import (
	"os"

	"dyno/lab/probe/host"
	"dyno/lab/probe/procfs"
	"dyno/lab/record"
)

const (
	// maxPeers is the maximum number of listening sockets whose processes count as dependencies
	// because the target calls them, and of the addresses whose calls are counted.
	maxPeers = 32
	// maxFiles is the maximum number of open files of a process that are searched for its
	// connections.
	maxFiles = 1 << 20
)

// peer is a process that the target, or another process of the experiment, calls.
type peer struct {
	record.Peer
	*processTree
	since int64   // ns, when it was found
	first float64 // s of CPU time at that moment
	last  float64
}

// Peers returns the processes that the target calls, each with its mean CPU use from when it was
// found until now.
func (s *Sampler) Peers(now int64) (out []record.Peer) {
	for _, p := range s.peers {
		p.Peer.CPU = Rate(p.first, p.last, p.since, now)
		out = append(out, p.Peer)
	}
	return out
}

// findPeers looks for processes that the known trees call: those of the target, its dependencies,
// their peers and the generators. It counts them as dependencies rather than as other processes.
func (s *Sampler) findPeers(now int64) {
	if s.target == nil {
		return
	}
	for _, f := range s.trees() {
		// The processes of a tree share a network namespace, so its table is read once. Reading it
		// for each of the hundreds of processes of a database would take seconds.
		inodes := map[uint64]bool{}
		for _, pid := range f.pids() {
			for inode := range procfs.Held(s.from.Root, pid, maxFiles) {
				inodes[inode] = true
			}
		}
		s.findPeersOf(f.root, inodes, now)
		if f == s.target {
			held := map[uint64]bool{} // by the process itself, whose profiles are read, without its children
			for inode := range procfs.Held(s.from.Root, f.root, maxFiles) {
				held[inode] = true
			}
			own, others := procfs.Outgoing(s.from.Root, f.root, held)
			s.outgoing = record.Outgoing{Own: max(s.outgoing.Own, own), Others: max(s.outgoing.Others, others)}
			s.sees.Outgoing = s.sees.Outgoing || len(inodes) > 0
		}
	}
}

// Outgoing counts the connections that the target opened; nil: they could not be read.
func (s *Sampler) Outgoing() *record.Outgoing {
	if !s.sees.Outgoing {
		return nil
	}
	return new(s.outgoing)
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

// known reports whether a process counts already: as part of the target, of a dependency, of the
// lab or of a peer.
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
