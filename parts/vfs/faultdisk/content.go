package faultdisk

import (
	"maps"
	"slices"
	"syscall"
)

// SectorBytes is the size of a sector, the unit that a disk writes completely or not at all.
const SectorBytes = 512

type sector [SectorBytes]byte

// content is what is in a file. Sectors that are missing are zeros. A sector is not changed once it
// is durable, but replaced, and what lies beyond the size is zeros.
type content struct {
	size    int64
	sectors map[int64]*sector
}

func (c content) readAt(b []byte, offset int64) int {
	b = b[:max(0, min(int64(len(b)), c.size-offset))]
	for done := 0; done < len(b); {
		at := offset + int64(done)
		part := b[done:min(len(b), done+SectorBytes-int(at%SectorBytes))]
		if s := c.sectors[at/SectorBytes]; s != nil {
			copy(part, s[at%SectorBytes:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(b)
}

// resize cuts off what lies beyond a size, or adds zeros.
func (c *content) resize(size int64) {
	if size < c.size {
		for i, s := range c.sectors {
			switch inside := size - i*SectorBytes; {
			case inside <= 0:
				delete(c.sectors, i)
			case inside < SectorBytes:
				fresh := *s
				clear(fresh[inside:])
				c.sectors[i] = &fresh
			}
		}
	}
	c.size = size
}

// put replaces a sector; nil means zeros.
func (c content) put(i int64, s *sector) {
	if s == nil {
		delete(c.sectors, i)
	} else {
		c.sectors[i] = s
	}
}

// Size returns how many bytes a file has; a folder has none.
func (n *Node) Size() (int64, error) {
	if err := n.disk.enter(); err != nil {
		return 0, err
	}
	defer n.disk.mu.Unlock()
	return n.data.size, nil
}

// ReadAt reads up to the end of the file; fewer bytes than asked for are no error.
func (n *Node) ReadAt(b []byte, offset int64) (int, error) {
	if err := n.disk.enter(); err != nil {
		return 0, err
	}
	defer n.disk.mu.Unlock()
	switch {
	case n.IsDir():
		return 0, syscall.EISDIR
	case offset < 0:
		return 0, syscall.EINVAL
	}
	return n.data.readAt(b, offset), nil
}

// WriteAt writes all, or with an error as much as a failing or full disk takes.
func (n *Node) WriteAt(b []byte, offset int64) (int, error) {
	if err := n.disk.enter(); err != nil {
		return 0, err
	}
	defer n.disk.mu.Unlock()
	fault := n.disk.writes.hit()
	if fault != nil {
		b = b[:len(b)/2]
	}
	if beyond := offset + int64(len(b)) - n.data.size - n.free(); beyond > 0 {
		fault = syscall.ENOSPC
		b = b[:max(0, int64(len(b))-beyond)] // a hole before offset uses space, unlike in a real file system
	}
	if len(b) == 0 {
		return 0, fault
	}
	_ = n.resize(max(n.data.size, offset+int64(len(b))))
	for done := 0; done < len(b); {
		at := offset + int64(done)
		done += copy(n.writable(at / SectorBytes)[at%SectorBytes:], b[done:])
	}
	return len(b), fault
}

// free returns by how many bytes a file can grow.
func (n *Node) free() int64 { return n.disk.capacity - n.disk.used }

// writable returns a sector that may be changed.
func (n *Node) writable(i int64) *sector {
	s := n.data.sectors[i]
	if _, dirty := n.dirty[i]; !dirty || s == nil {
		fresh := new(sector)
		if s != nil {
			*fresh = *s
		}
		s = fresh
		n.data.sectors[i] = s
	}
	n.dirty[i] = false
	return s
}

// Truncate sets the size of the file, with zeros at its end if it grows.
func (n *Node) Truncate(size int64) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	if n.IsDir() {
		return syscall.EISDIR
	}
	return n.resize(size)
}

// Allocate makes the file n bytes of zeros longer than offset, unless it is so already.
func (n *Node) Allocate(offset, size int64) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	if size <= 0 || offset < 0 {
		return syscall.EINVAL
	}
	return n.resize(max(n.data.size, offset+size))
}

// Fill writes size zeros from offset on.
func (n *Node) Fill(offset, size int64) error {
	_, err := n.WriteAt(make([]byte, size), offset)
	return err
}

func (n *Node) resize(size int64) error {
	if size-n.data.size > n.free() {
		return syscall.ENOSPC
	}
	if n.names > 0 {
		n.disk.used += size - n.data.size
	}
	if size < n.data.size {
		for i := range n.data.sectors {
			if (i+1)*SectorBytes > size {
				n.dirty[i] = false
			}
		}
	}
	n.data.resize(size)
	return nil
}

// harden makes the data durable, except sectors that a failed sync has marked clean.
func (n *Node) harden() {
	n.durable.resize(n.data.size)
	for i, lost := range n.dirty {
		if !lost {
			n.durable.put(i, n.data.sectors[i])
		}
	}
	clear(n.dirty)
}

// failSync is a failing sync: some sectors become durable, and the others are marked clean,
// although programs still read them.
func (n *Node) failSync() {
	chance := func() bool { return n.disk.random.IntN(2) == 0 }
	if !n.IsDir() && chance() {
		n.durable.resize(n.data.size)
	}
	for _, i := range slices.Sorted(maps.Keys(n.dirty)) {
		if chance() {
			n.keep(i, n.durable)
		} else {
			n.dirty[i] = true
		}
	}
}

// keep copies the part of a sector that is within a content's size.
func (n *Node) keep(i int64, into content) {
	s := n.data.sectors[i]
	if s != nil {
		fresh := *s
		clear(fresh[max(0, min(into.size-i*SectorBytes, SectorBytes)):])
		s = &fresh
	}
	into.put(i, s)
}

// survivor returns what a power cut leaves: each sector that is not durable, and the size, is old
// or new.
func (n *Node) survivor(chance func() bool) content {
	size := n.durable.size
	if chance() {
		size = n.data.size
	}
	c := content{max(n.data.size, n.durable.size), maps.Clone(n.durable.sectors)}
	for _, i := range slices.Sorted(maps.Keys(n.dirty)) {
		if chance() {
			n.keep(i, c)
		}
	}
	c.resize(size)
	return c
}
