package powercut

import (
	"maps"
	"slices"
	"syscall"
)

// IsDir says that the node is a folder.
func (n *Node) IsDir() bool { return n.entries != nil }

// Lookup returns what a name in a folder leads to.
func (n *Node) Lookup(name string) (*Node, error) {
	if err := n.disk.enter(); err != nil {
		return nil, err
	}
	defer n.disk.mu.Unlock()
	if to := n.entries[name]; to != nil {
		return to, nil
	}
	return nil, syscall.ENOENT
}

// Names returns the names in a folder, sorted.
func (n *Node) Names() ([]string, error) {
	if err := n.disk.enter(); err != nil {
		return nil, err
	}
	defer n.disk.mu.Unlock()
	return slices.Sorted(maps.Keys(n.entries)), nil
}

// Create makes an empty file or folder.
func (n *Node) Create(name string, mode uint32, folder bool) (*Node, error) {
	if err := n.disk.enter(); err != nil {
		return nil, err
	}
	defer n.disk.mu.Unlock()
	if n.entries[name] != nil {
		return nil, syscall.EEXIST
	}
	to := n.disk.node(mode, folder)
	n.change(change{name: to})
	return to, nil
}

func (n *Node) change(c change) {
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
	n.change(change{name: nil})
	n.disk.in -= len(to.data.pages) // those who have it open go on reading it
	return nil
}

// Rename lets what a name leads to be found under another, in the same folder or in another, and
// replaces what was found there. Between two folders it is two changes, of which a power cut may
// keep either.
func (n *Node) Rename(name string, in *Node, newName string, replace bool) error {
	if err := n.disk.enter(); err != nil {
		return err
	}
	defer n.disk.mu.Unlock()
	from, to := n.entries[name], in.entries[newName]
	switch {
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
	if to != nil {
		n.disk.in -= len(to.data.pages)
	}
	if in == n {
		n.change(change{newName: from, name: nil})
		return nil
	}
	in.change(change{newName: from})
	n.change(change{name: nil})
	return nil
}
