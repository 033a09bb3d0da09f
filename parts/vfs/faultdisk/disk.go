// Package faultdisk is a disk in memory for tests of programs that keep data. It fails on request,
// and loses what was not synced when the power is cut. It is as strict as POSIX allows a disk to
// be: a file's data is durable after a sync of the file, a name after a sync of its folder, and of
// what was not synced each sector, size and name survives or not, independently of the others. What
// a failed sync should have made durable is lost or not, without a later sync making up for it.
// Programs that survive this do not rely on the kindness of one file system.
//
//	disk := faultdisk.New()
//	files, err := segment.Open("/log", segment.Options{FS: disk})
//	...
//	disk = disk.Crash(seed) // as it is when the machine starts again
//
// Programs reach it in two ways: a Disk is a vfs.FS; and its Nodes answer as system calls do, for a
// file system of the kernel's (bench/tests/powercut). It is not for speed or for large
// amounts of data: what is durable and what is not yet share memory. It starts no goroutines.
package faultdisk

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
)

// ErrOff is the error of every call after the power was cut.
var ErrOff = errors.New("the power was cut")

// Disk is a tree of files and folders. Its methods, and those of its nodes, are safe for concurrent
// use.
type Disk struct {
	mu       sync.Mutex
	random   *rand.Rand
	root     *Node
	last     uint64 // number given to a node
	off      bool
	capacity int64 // bytes
	used     int64 // bytes: the sizes of all files that have a name
	syncs    fault
	writes   fault
	synced   int // number of successful syncs
}

// fault makes one call fail.
type fault struct {
	in  int // calls from now; 0 means none
	err error
}

// hit counts a call and returns the error with which it must fail.
func (f *fault) hit() error {
	if f.in == 0 {
		return nil
	}
	if f.in--; f.in > 0 {
		return nil
	}
	return f.err
}

// New returns an empty disk without a space limit.
func New() *Disk { return newDisk(rand.New(rand.NewPCG(1, 1))) }

func newDisk(random *rand.Rand) *Disk {
	d := &Disk{random: random, capacity: math.MaxInt64}
	d.root = d.node(0o755, true)
	return d
}

// Root returns the folder that always exists.
func (d *Disk) Root() *Node { return d.root }

// enter begins a call on the disk; the caller unlocks mu unless there is an error.
func (d *Disk) enter() error {
	d.mu.Lock()
	if d.off {
		d.mu.Unlock()
		return ErrOff
	}
	return nil
}

// FailSync makes the n-th sync from now (1 is the next), of a file or a folder, fail with EIO.
func (d *Disk) FailSync(n int) { d.set(func() { d.syncs = fault{n, syscall.EIO} }) }

// FailWrite makes the n-th write from now stop halfway with EIO.
func (d *Disk) FailWrite(n int) { d.set(func() { d.writes = fault{n, syscall.EIO} }) }

// Full sets the free space in bytes; negative means no limit.
func (d *Disk) Full(bytes int64) {
	d.set(func() {
		if d.capacity = math.MaxInt64; bytes >= 0 {
			d.capacity = d.used + bytes
		}
	})
}

// Syncs returns how many syncs of files and folders have succeeded.
func (d *Disk) Syncs() (n int) {
	d.set(func() { n = d.synced })
	return n
}

// Free returns the free space in bytes.
func (d *Disk) Free() (bytes int64) {
	d.set(func() { bytes = d.capacity - d.used })
	return bytes
}

// Cut cuts the power: every later call on the disk fails.
func (d *Disk) Cut() { d.set(func() { d.off = true }) }

func (d *Disk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// Crash cuts the power, and returns the disk as it is when the machine starts again, without a
// space limit. The seed decides how much of what was not synced survived.
func (d *Disk) Crash(seed uint64) *Disk {
	random := rand.New(rand.NewPCG(seed, seed))
	return d.crash(random, random.IntN(101))
}

// CrashClean is Crash, but nothing that was not synced survives.
func (d *Disk) CrashClean() *Disk { return d.crash(rand.New(rand.NewPCG(1, 1)), 0) }

// crash keeps about percent of what was not synced.
func (d *Disk) crash(random *rand.Rand, percent int) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
	after := newDisk(random)
	s := survival{after, map[*Node]*Node{d.root: after.root}, func() bool { return random.IntN(100) < percent }}
	s.fill(after.root, d.root)
	return after
}

// survival copies what survives a power cut to another disk.
type survival struct {
	disk   *Disk
	copies map[*Node]*Node // a file whose rename survived in part has two names
	chance func() bool
}

func (s survival) fill(after, n *Node) {
	if !n.IsDir() {
		after.data = n.survivor(s.chance)
		after.durable = content{after.data.size, maps.Clone(after.data.sectors)}
		s.disk.used += after.data.size
		return
	}
	names := maps.Clone(n.synced)
	for _, c := range n.changes {
		if s.chance() {
			c.apply(names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) { // in an order that the seed decides
		from := names[name]
		if s.copies[from] == nil {
			s.copies[from] = s.disk.node(from.Mode, from.IsDir())
			s.fill(s.copies[from], from)
		}
		after.entries[name] = s.copies[from]
		s.copies[from].names++
	}
	after.synced = maps.Clone(after.entries)
}
