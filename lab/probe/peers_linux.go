package probe

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"dyno/lab/record"
)

// sockets returns the inodes of the sockets that a process has open.
func (h host) sockets(pid int) map[uint64]bool {
	dir := filepath.Join(h.root, "proc", strconv.Itoa(pid), "fd")
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer folder.Close()
	out := map[uint64]bool{}
	files, _ := folder.Readdirnames(maxFiles)
	for _, fd := range files {
		if link, err := os.Readlink(filepath.Join(dir, fd)); err == nil {
			if inode, ok := socketInode(link); ok {
				out[inode] = true
			}
		}
	}
	return out
}

// findPeers searches for processes that the target calls, and for those that they call. They work
// for the target, so they are not neighbours.
func (s *sampler) findPeers(now int64) {
	if s.target == nil {
		return
	}
	for _, f := range s.trees() {
		// A tree's processes share a network. Reading the table for each of a database's hundreds of
		// processes would take seconds.
		inodes := map[uint64]bool{}
		for _, pid := range f.pids() {
			maps.Copy(inodes, s.sockets(pid))
		}
		s.findPeersOf(f.root, inodes, now)
	}
}

func (s *sampler) findPeersOf(pid int, inodes map[uint64]bool, now int64) {
	if len(inodes) == 0 {
		return
	}
	var all []tcpSocket
	for _, name := range []string{"tcp", "tcp6"} {
		if table, err := s.host.read(strconv.Itoa(pid), "net", name); err == nil {
			all = append(all, tcpSockets(table)...)
		}
	}
	for _, l := range called(all, inodes) {
		if s.holders[l.inode] || len(s.holders) >= maxPeers {
			continue
		}
		if s.holders == nil {
			s.holders = map[uint64]bool{}
		}
		s.holders[l.inode] = true
		if other := holder(s.root, []uint64{l.inode}); other != 0 && !s.known(other) {
			p := &peer{processTree: newProcessTree(other), since: now}
			p.refresh(s.host)
			p.first = p.cpuTimes(s.host, false).cpu
			p.last = p.first
			name, _, _ := Program(other)
			p.Peer = record.Peer{PID: other, Program: name, Address: l.remote.String()}
			s.peers = append(s.peers, p)
		}
	}
}

// known reports whether a process is counted already: as the target, a companion, the lab or a
// peer.
func (s *sampler) known(pid int) bool {
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
