package faultdisk

import (
	"maps"
	"slices"
	"syscall"
)

// Node is a file or a folder, independent of its name. Its methods answer as system calls do.
type Node struct {
	disk    *Disk
	Number  uint64           // unique on the disk
	Mode    uint32           // permissions
	names   int              // that lead to it; without one it takes no space
	entries map[string]*Node // of a folder; nil: it is a file
	synced  map[string]*Node // the entries that a power cut leaves
	changes []change         // since the folder was synced
	data    content          // of a file
	durable content          // what a power cut leaves of it
	dirty   map[int64]bool   // sectors of data that are not durable; true: a failed sync has marked it clean
}

// change is a name that leads elsewhere now; nil: nowhere.
type change struct {
	name string
	to   *Node
}

func (c change) apply(entries map[string]*Node) {
	if c.to == nil {
		delete(entries, c.name)
	} else {
		entries[c.name] = c.to
	}
}

func (d *Disk) node(mode uint32, folder bool) *Node {
	d.last++
	n := &Node{disk: d, Number: d.last, Mode: mode}
	if folder {
		n.entries, n.synced = map[string]*Node{}, map[string]*Node{}
	} else {
		n.data.sectors, n.durable.sectors, n.dirty = map[int64]*sector{}, map[int64]*sector{}, map[int64]bool{}
	}
	return n
}

// IsDir reports whether the node is a folder.
func (n *Node) IsDir() bool { return n.entries != nil }

// Lookup returns what a name in a folder leads to.
func (n *Node) Lookup(name string) (*Node, error) {
	if err := n.disk.enter(); err != nil {
		return nil, err
	}
	defer n.disk.mu.Unlock()
	switch to := n.entries[name]; {
	case !n.IsDir():
		return nil, syscall.ENOTDIR
	case to == nil:
		return nil, syscall.ENOENT
	default:
		return to, nil
	}
}

// Names returns the names in a folder, sorted.
func (n *Node) Names() ([]string, error) {
	if err := n.disk.enter(); err != nil {
		return nil, err
	}
	defer n.disk.mu.Unlock()
	return slices.Sorted(maps.Keys(n.entries)), nil
}

// Create creates an empty file or folder.
func (n *Node) Create(name string, mode uint32, folder bool) (*Node, error) {
	if err := n.disk.enter(); err != nil {
		return nil, err
	}
	defer n.disk.mu.Unlock()
	switch {
	case !n.IsDir():
		return nil, syscall.ENOTDIR
	case n.entries[name] != nil:
		return nil, syscall.EEXIST
	}
	to := n.disk.node(mode, folder)
	n.change(name, to)
	return to, nil
}

// change changes what a name leads to. What has no name any more takes no space, also if it is
// open.
func (n *Node) change(name string, to *Node) {
	if to != nil {
		to.names++
	}
	if old := n.entries[name]; old != nil {
		if old.names--; old.names == 0 {
			n.disk.used -= old.data.size
		}
	}
	c := change{name, to}
	c.apply(n.entries)
	n.changes = append(n.changes, c)
}

// Remove removes a file, or a folder that is empty.
func (n *Node) Remove(name string, folder bool) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	to := n.entries[name]
	switch {
	case to == nil:
		return syscall.ENOENT
	case to.IsDir() && !folder:
		return syscall.EISDIR
	case !to.IsDir() && folder:
		return syscall.ENOTDIR
	case len(to.entries) > 0:
		return syscall.ENOTEMPTY
	}
	n.change(name, nil)
	return nil
}

// Rename gives a node another name, in the same folder or in another. If replace is set, it
// replaces the node that has the new name; otherwise that is an error. The old name and the new one
// survive a power cut independently: both may be there, or neither.
func (n *Node) Rename(name string, in *Node, newName string, replace bool) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	from, to := n.entries[name], in.entries[newName]
	switch {
	case !in.IsDir():
		return syscall.ENOTDIR
	case from == nil:
		return syscall.ENOENT
	case from == to:
		return nil
	case to != nil && !replace:
		return syscall.EEXIST
	case to != nil && to.IsDir() && !from.IsDir():
		return syscall.EISDIR
	case to != nil && from.IsDir() && !to.IsDir():
		return syscall.ENOTDIR
	case to != nil && len(to.entries) > 0:
		return syscall.ENOTEMPTY
	}
	in.change(newName, from)
	n.change(name, nil)
	return nil
}

// Sync makes the data of a file, or the names in a folder, durable.
func (n *Node) Sync() error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	if err := n.disk.syncs.hit(); err != nil {
		n.failSync()
		return err
	}
	if n.IsDir() {
		n.synced, n.changes = maps.Clone(n.entries), nil
	} else {
		n.harden()
	}
	n.disk.synced++
	return nil
}
