package powercut

import (
	"context"
	"errors"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"dyno/parts/vfs/faultdisk"
)

// blockBytes is the unit in which sizes are reported.
const blockBytes = 4096

// inode shows a node to the kernel. The kernel's caches last as long as the mount, so a cut takes a
// new one.
type inode struct {
	fs.Inode
	disk *faultdisk.Disk
	node *faultdisk.Node
}

var _ = interface {
	fs.NodeStatfser
	fs.NodeGetattrer
	fs.NodeSetattrer
	fs.NodeLookuper
	fs.NodeReaddirer
	fs.NodeMkdirer
	fs.NodeCreater
	fs.NodeOpener
	fs.NodeReader
	fs.NodeWriter
	fs.NodeFsyncer
	fs.NodeAllocater
	fs.NodeUnlinker
	fs.NodeRmdirer
	fs.NodeRenamer
}((*inode)(nil))

// errno converts an error into the number that the kernel expects: EIO without power.
func errno(err error) syscall.Errno {
	var e syscall.Errno
	if err != nil && !errors.As(err, &e) {
		return syscall.EIO
	}
	return e
}

func (i *inode) child(ctx context.Context, n *faultdisk.Node, out *fuse.EntryOut) *fs.Inode {
	stat(n, &out.Attr)
	return i.NewInode(ctx, &inode{disk: i.disk, node: n}, fs.StableAttr{Mode: out.Attr.Mode & syscall.S_IFMT, Ino: n.Number})
}

func stat(n *faultdisk.Node, out *fuse.Attr) syscall.Errno {
	size, err := n.Size()
	out.Ino, out.Size, out.Nlink, out.Blksize = n.Number, uint64(size), 1, blockBytes
	out.Blocks = (out.Size + 511) / 512
	if out.Mode = n.Mode | syscall.S_IFREG; n.IsDir() {
		out.Mode = n.Mode | syscall.S_IFDIR
	}
	out.Uid, out.Gid = uint32(syscall.Getuid()), uint32(syscall.Getgid())
	return errno(err)
}

func (i *inode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const total = capacity / blockBytes
	free := uint64(i.disk.Free()) / blockBytes
	out.Bsize, out.Frsize, out.NameLen = blockBytes, blockBytes, 255
	out.Blocks, out.Bfree, out.Bavail, out.Files, out.Ffree = total, free, free, 1<<20, 1<<20
	return 0
}

func (i *inode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	return stat(i.node, &out.Attr)
}

// Setattr changes the size. Permissions, owners and times are accepted but not kept: the tests do
// not read them.
func (i *inode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if err := i.node.Truncate(int64(size)); err != nil {
			return errno(err)
		}
	}
	return stat(i.node, &out.Attr)
}

func (i *inode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n, err := i.node.Lookup(name)
	if err != nil {
		return nil, errno(err)
	}
	return i.child(ctx, n, out), 0
}

func (i *inode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	names, err := i.node.Names()
	if err != nil {
		return nil, errno(err)
	}
	var entries []fuse.DirEntry
	for _, name := range names {
		n, err := i.node.Lookup(name)
		if err != nil {
			continue // removed meanwhile
		}
		mode := uint32(syscall.S_IFREG)
		if n.IsDir() {
			mode = syscall.S_IFDIR
		}
		entries = append(entries, fuse.DirEntry{Name: name, Mode: mode, Ino: n.Number})
	}
	return fs.NewListDirStream(entries), 0
}

func (i *inode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	n, err := i.node.Create(name, mode&0o777, true)
	if err != nil {
		return nil, errno(err)
	}
	return i.child(ctx, n, out), 0
}

func (i *inode) Create(ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	n, err := i.node.Create(name, mode&0o777, false)
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	return i.child(ctx, n, out), nil, 0, 0
}

func (i *inode) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		return nil, 0, errno(i.node.Truncate(0))
	}
	return nil, 0, 0
}

func (i *inode) Read(_ context.Context, _ fs.FileHandle, b []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	n, err := i.node.ReadAt(b, offset)
	return fuse.ReadResultData(b[:n]), errno(err)
}

func (i *inode) Write(_ context.Context, _ fs.FileHandle, b []byte, offset int64) (uint32, syscall.Errno) {
	n, err := i.node.WriteAt(b, offset)
	if n > 0 { // as write(2): the next call gets the error
		err = nil
	}
	return uint32(n), errno(err)
}

// Fsync is for files and folders; fdatasync differs in what is of no interest here.
func (i *inode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return errno(i.node.Sync())
}

func (i *inode) Allocate(_ context.Context, _ fs.FileHandle, offset, size uint64, mode uint32) syscall.Errno {
	if mode != 0 {
		return syscall.ENOTSUP
	}
	return errno(i.node.Allocate(int64(offset), int64(size)))
}

func (i *inode) Unlink(_ context.Context, name string) syscall.Errno {
	return errno(i.node.Remove(name, false))
}

func (i *inode) Rmdir(_ context.Context, name string) syscall.Errno {
	return errno(i.node.Remove(name, true))
}

func (i *inode) Rename(_ context.Context, name string, in fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	const noReplace = 1 // RENAME_NOREPLACE of renameat2(2)
	to, ours := in.(*inode)
	if !ours || flags&^noReplace != 0 {
		return syscall.EINVAL
	}
	return errno(i.node.Rename(name, to.node, newName, flags&noReplace == 0))
}
