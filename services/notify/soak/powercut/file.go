package powercut

import (
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
)

// Size returns how many bytes a file has.
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
	b = b[:max(0, min(int64(len(b)), n.data.size-offset))]
	for done := 0; done < len(b); {
		at := offset + int64(done)
		part := b[done:min(len(b), done+pageSize-int(at%pageSize))]
		if page := n.data.pages[at/pageSize]; page != nil {
			copy(part, page[at%pageSize:])
		} else {
			clear(part)
		}
		done += len(part)
	}
	return len(b), nil
}

// WriteAt writes all or, when the disk is full, nothing.
func (n *Node) WriteAt(b []byte, offset int64) (int, error) {
	if err := n.disk.enter(); err != nil {
		return 0, err
	}
	defer n.disk.mu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	if err := n.room(offset, int64(len(b))); err != nil {
		return 0, err
	}
	for done := 0; done < len(b); {
		at := offset + int64(done)
		done += copy(n.page(at / pageSize)[at%pageSize:], b[done:])
	}
	n.data.size = max(n.data.size, offset+int64(len(b)))
	return len(b), nil
}

// room takes the pages that a write needs from the disk's.
func (n *Node) room(offset, size int64) error {
	needed := 0
	for i := offset / pageSize; i <= (offset+size-1)/pageSize; i++ {
		if n.data.pages[i] == nil {
			needed++
		}
	}
	if n.disk.in+needed > n.disk.pages {
		return syscall.ENOSPC
	}
	n.disk.in += needed
	return nil
}

// page returns a page to be changed.
func (n *Node) page(i int64) *[pageSize]byte {
	page := n.data.pages[i]
	if _, dirty := n.dirty[i]; !dirty || page == nil {
		fresh := new([pageSize]byte)
		if page != nil {
			*fresh = *page
		}
		page = fresh
		n.data.pages[i] = page
		n.dirty[i] = struct{}{}
	}
	return page
}

// Truncate sets the size of the file, with zeros at its end if it grows.
func (n *Node) Truncate(size int64) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	n.truncate(size)
	return nil
}

func (n *Node) truncate(size int64) {
	for i := range n.data.pages {
		if i*pageSize >= size {
			delete(n.data.pages, i)
			n.dirty[i] = struct{}{}
			n.disk.in--
		}
	}
	if inside := size % pageSize; size < n.data.size && n.data.pages[size/pageSize] != nil && inside > 0 {
		clear(n.page(size / pageSize)[inside:])
	}
	n.data.size = size
}

// Allocate checks that the disk has room for size bytes, and extends the file to the end of the
// range unless keepSize is set.
func (n *Node) Allocate(offset, size int64, keepSize bool) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	if size <= 0 || offset < 0 {
		return syscall.EINVAL
	}
	if n.disk.in+int(size/pageSize) > n.disk.pages {
		return syscall.ENOSPC // writes take the pages; here it is enough to detect a full disk
	}
	if !keepSize {
		n.data.size = max(n.data.size, offset+size)
	}
	return nil
}

// Sync makes the data of a file, or the names in a folder, durable.
func (n *Node) Sync() error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	if n.IsDir() {
		n.synced, n.changes = maps.Clone(n.entries), nil
		return nil
	}
	for i := range n.dirty {
		n.harden(i, n.data.pages[i])
	}
	n.durable.size = n.data.size
	clear(n.dirty)
	return nil
}

func (n *Node) harden(i int64, page *[pageSize]byte) {
	if page == nil {
		delete(n.durable.pages, i)
	} else {
		n.durable.pages[i] = page
	}
}

// keepSome makes some of the unsynced data durable: each sector independently, and either size.
// Data beyond the size reads as zeros after the file grows again.
func (n *Node) keepSome(random *rand.Rand) {
	for _, i := range slices.Sorted(maps.Keys(n.dirty)) {
		mix := new([pageSize]byte)
		if old := n.durable.pages[i]; old != nil {
			*mix = *old
		}
		var now [pageSize]byte
		if page := n.data.pages[i]; page != nil {
			now = *page
		}
		for at := 0; at < pageSize; at += sectorSize {
			if random.IntN(2) == 0 {
				copy(mix[at:at+sectorSize], now[at:])
			}
		}
		n.durable.pages[i] = mix
	}
	if random.IntN(2) == 0 {
		n.durable.size = n.data.size
	}
	beyond := content{n.durable.size, n.durable.pages}
	beyond.trim()
}

// trim clears what lies beyond the size.
func (c *content) trim() {
	for i, page := range c.pages {
		switch from := c.size - i*pageSize; {
		case from <= 0:
			delete(c.pages, i)
		case from < pageSize:
			fresh := *page
			clear(fresh[from:])
			c.pages[i] = &fresh
		}
	}
}
