package faultfs

import (
	"io"
	"io/fs"
	"maps"
	"slices"
)

// sector is the unit that a disk writes completely or not at all, in bytes.
const sector = 512

// node is a file or a folder, independent of its name.
type node struct {
	dir    bool
	data   []byte         // as programs see it
	stable []byte         // as it is after a power cut
	dirty  map[int64]bool // sectors of data that may differ from stable
	lost   map[int64]bool // sectors that the next sync skips, because a failed one has marked them clean
}

func (n *node) resize(size int64) {
	if size < int64(len(n.data)) {
		clear(n.data[size:]) // what is appended later is zeros
		n.touch(size, int64(len(n.data)))
		n.data = n.data[:size]
		return
	}
	if grow := size - int64(cap(n.data)); grow > 0 {
		n.data = slices.Grow(n.data, int(size)-len(n.data))
	}
	n.data = n.data[:size]
}

// touch marks a range as written.
func (n *node) touch(from, to int64) {
	for s := from / sector; s*sector < to; s++ {
		n.dirty[s] = true
		delete(n.lost, s)
	}
}

// persist copies a sector to stable.
func (n *node) persist(s int64) {
	if from := s * sector; from < int64(len(n.data)) && from < int64(len(n.stable)) {
		copy(n.stable[from:min(from+sector, int64(len(n.stable)))], n.data[from:])
	}
}

// fit sets the size of stable to the current size.
func (n *node) fit() {
	size := len(n.data)
	if size < len(n.stable) {
		clear(n.stable[size:])
		n.stable = n.stable[:size]
	}
	n.stable = slices.Grow(n.stable, size-len(n.stable))[:size]
}

func (n *node) sync() {
	n.fit()
	for s := range n.dirty {
		if !n.lost[s] {
			n.persist(s)
		}
	}
	clear(n.dirty)
	clear(n.lost)
}

// failSync is a failing sync: some sectors are written, and the others are marked clean, although
// programs still read them.
func (n *node) failSync(chance func() bool) {
	if n.lost == nil {
		n.lost = map[int64]bool{}
	}
	if chance() {
		n.fit()
	}
	for _, s := range slices.Sorted(maps.Keys(n.dirty)) {
		if chance() {
			n.persist(s)
		} else {
			n.lost[s] = true
		}
	}
}

// crash returns the node after a power cut.
func (n *node) crash(survives func() bool) *node {
	after := &node{dir: n.dir, dirty: map[int64]bool{}}
	size := len(n.stable)
	if survives() {
		size = len(n.data)
	}
	after.data = make([]byte, size)
	copy(after.data, n.stable)
	for _, s := range slices.Sorted(maps.Keys(n.dirty)) {
		if from := s * sector; survives() && from < int64(min(size, len(n.data))) {
			copy(after.data[from:min(from+sector, int64(size))], n.data[from:])
		}
	}
	after.stable = slices.Clone(after.data)
	return after
}

// file is an open file.
type file struct {
	fs   *FS
	node *node
	name string
}

func (f *file) do(op string, do func() error) error {
	return f.fs.do(op, f.name, func(string) error { return do() })
}

func (f *file) Close() error { return nil }

func (f *file) Size() (size int64, err error) {
	err = f.do("stat", func() error { size = int64(len(f.node.data)); return nil })
	return size, err
}

func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do("read", func() error {
		if f.node.dir || off < 0 {
			return fs.ErrInvalid
		}
		if off < int64(len(f.node.data)) {
			n = copy(p, f.node.data[off:])
		}
		return nil
	})
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

func (f *file) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.do("write", func() error {
		fault := f.fs.writes.hit()
		if fault != nil {
			p = p[:len(p)/2]
		}
		if grow := off + int64(len(p)) - int64(len(f.node.data)); grow > 0 {
			if err := f.fs.resize(f.node, off+int64(len(p))); err != nil {
				fault = err
				p = p[:max(0, int64(len(p))-grow+f.fs.free)] // a hole before off uses space here, unlike in a real file system
				_ = f.fs.resize(f.node, max(int64(len(f.node.data)), off+int64(len(p))))
			}
		}
		if n = len(p); n > 0 {
			copy(f.node.data[off:], p)
			f.node.touch(off, off+int64(n))
		}
		return fault
	})
	return n, err
}

func (f *file) Truncate(size int64) error {
	return f.do("truncate", func() error { return f.fs.resize(f.node, size) })
}

func (f *file) Allocate(offset, n int64) error {
	return f.do("allocate", func() error { return f.fs.resize(f.node, max(offset+n, int64(len(f.node.data)))) })
}

func (f *file) Sync() error {
	return f.do("sync", func() error {
		if err := f.fs.syncs.hit(); err != nil {
			f.node.failSync(func() bool { return f.fs.rng.IntN(2) == 0 })
			return err
		}
		f.node.sync()
		f.fs.synced++
		return nil
	})
}
