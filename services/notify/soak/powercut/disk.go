// Package powercut is a disk that loses what was not synced. It is as strict as POSIX allows a disk
// to be: a file's data is durable after fsync of the file, a name after fsync of the folder that it
// is in, and of what was not synced a power cut may keep nothing, or any part: some sectors of a
// write and not others, and the first few changes of a folder without the rest. Programs that
// survive it do not rely on the kindness of one file system.
//
// Disk is the model, in memory, so that nothing is left behind. Supply mounts one through FUSE, in
// a process of its own, for programs that know nothing of it; that takes Linux, /dev/fuse, and root
// or fusermount3. It is not for code that has a seam of its own for files, and it is not fast.
//
// Disk starts no goroutines. Supply owns its process, and that process its mount.
package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
)

// Sizes in bytes.
const (
	pageSize   = 4096
	sectorSize = 512 // what a disk writes whole

	// DefaultCapacity is beyond what tests of logs write. What is durable and what is not yet share
	// memory.
	DefaultCapacity = 1 << 30
)

// Disk is a tree of files. Its methods, and those of its nodes, are safe for concurrent use; they
// answer as system calls do.
type Disk struct {
	mu     sync.Mutex
	root   *Node
	last   uint64 // number given to a node
	dead   bool   // the power is off
	pages  int    // that files may take
	in     int    // that they take
	random *rand.Rand
}

// Node is a file or a folder. It goes when no name leads to it any more.
type Node struct {
	disk    *Disk
	Number  uint64
	Mode    uint32             // permissions
	entries map[string]*Node   // of a folder; nil: it is a file
	synced  map[string]*Node   // the entries that a power cut leaves
	changes []change           // since the folder was synced
	data    content            // of a file
	durable content            // what a power cut leaves of it
	dirty   map[int64]struct{} // pages of data that are not durable
}

// change is names that lead elsewhere now; nil: nowhere. It is kept whole or not at all.
type change map[string]*Node

// content is what is in a file. Pages that are missing are zeros. A page is never changed once it
// is durable.
type content struct {
	size  int64
	pages map[int64]*[pageSize]byte
}

// NewDisk returns an empty disk of capacity bytes.
func NewDisk(capacity int64, seed uint64) *Disk {
	d := &Disk{pages: int(capacity / pageSize), random: rand.New(rand.NewPCG(seed, 0))}
	d.root = d.node(0o755, true)
	return d
}

// Root returns the folder that is always there.
func (d *Disk) Root() *Node { return d.root }

func (d *Disk) node(mode uint32, folder bool) *Node {
	d.last++
	n := &Node{disk: d, Number: d.last, Mode: mode}
	if folder {
		n.entries, n.synced = map[string]*Node{}, map[string]*Node{}
	} else {
		n.data.pages, n.durable.pages, n.dirty = map[int64]*[pageSize]byte{}, map[int64]*[pageSize]byte{}, map[int64]struct{}{}
	}
	return n
}

// enter begins a call on the disk; the caller unlocks mu unless there is an error.
func (d *Disk) enter() error {
	d.mu.Lock()
	if d.dead {
		d.mu.Unlock()
		return syscall.EIO
	}
	return nil
}

// Cut turns the power off: every call fails from here on.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// Restore turns the power on again: what was not synced is gone, or by chance some of it is not.
func (d *Disk) Restore(some bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead, d.in = false, 0
	d.recover(d.root, some, map[*Node]bool{})
}

func (d *Disk) recover(n *Node, some bool, seen map[*Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	if !n.IsDir() {
		if some {
			n.keepSome(d.random)
		}
		n.data = content{n.durable.size, maps.Clone(n.durable.pages)}
		clear(n.dirty)
		d.in += len(n.data.pages)
		return
	}
	if some {
		for _, c := range n.changes[:d.random.IntN(len(n.changes)+1)] {
			c.apply(n.synced)
		}
	}
	n.entries, n.changes = maps.Clone(n.synced), nil
	for _, name := range slices.Sorted(maps.Keys(n.entries)) { // in an order that the seed decides
		d.recover(n.entries[name], some, seen)
	}
}

func (c change) apply(entries map[string]*Node) {
	for name, to := range c {
		if to == nil {
			delete(entries, name)
		} else {
			entries[name] = to
		}
	}
}

// space returns how many pages there are, and how many are free.
func (d *Disk) space() (total, free uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return uint64(d.pages), uint64(max(0, d.pages-d.in))
}
