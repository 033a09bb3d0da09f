package powercut

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"dyno/parts/vfs/faultdisk"
)

// capacity is the free space after a start, in bytes: beyond what tests of logs write.
const capacity = 1 << 30

// serve mounts a disk on a folder and executes commands, one word per line, until in ends: cut,
// restore (unsynced data is lost) and restore-some. It answers each with ok or an error.
func serve(dir string, seed uint64, in io.Reader, out io.Writer) error {
	random := rand.New(rand.NewPCG(seed, 0))
	disk := faultdisk.New()
	server, err := mount(disk, dir)
	if err != nil {
		fmt.Fprintln(out, err)
		return err
	}
	fmt.Fprintln(out, "ok")
	words := bufio.NewScanner(in)
	for words.Scan() {
		switch word := words.Text(); word {
		case "cut":
			disk.Cut()
		case "restore":
			disk = disk.CrashClean()
			server, err = remount(server, disk, dir)
		case "restore-some":
			disk = disk.Crash(random.Uint64())
			server, err = remount(server, disk, dir)
		default:
			err = fmt.Errorf("the word %q is not known", word)
		}
		if err != nil {
			fmt.Fprintln(out, err)
			return err
		}
		fmt.Fprintln(out, "ok")
	}
	return unmount(server, dir)
}

func remount(server *fuse.Server, d *faultdisk.Disk, dir string) (*fuse.Server, error) {
	if err := unmount(server, dir); err != nil {
		return nil, err
	}
	return mount(d, dir)
}

func mount(d *faultdisk.Disk, dir string) (*fuse.Server, error) {
	d.Full(capacity)
	var none time.Duration // nothing is cached that a cut could make wrong
	server, err := fs.Mount(dir, &inode{disk: d, node: d.Root()}, &fs.Options{
		EntryTimeout: &none, AttrTimeout: &none, NegativeTimeout: &none,
		MountOptions: fuse.MountOptions{DirectMount: true, FsName: "powercut", Name: "powercut", DisableXAttrs: true, MaxWrite: 1 << 20,
			Logger: log.New(io.Discard, "", 0)},
	})
	if err != nil {
		return nil, fmt.Errorf("mounting on %s: %w", dir, err)
	}
	return server, nil
}

// unmount removes the mount even if a process has files open there, and waits until none has.
func unmount(server *fuse.Server, dir string) error {
	if err := detach(dir); err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		server.Wait()
	}()
	select {
	case <-gone:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("files on %s are still open %v after it was taken away; end the processes that use it", dir, patience)
	}
}

// detach unmounts lazily.
func detach(dir string) error {
	err := syscall.Unmount(dir, syscall.MNT_DETACH)
	if err == nil {
		return nil
	}
	out, failed := exec.Command("fusermount3", "-u", "-z", dir).CombinedOutput()
	if failed != nil {
		return errors.Join(fmt.Errorf("unmounting %s: %w", dir, err), fmt.Errorf("fusermount3: %w: %s", failed, strings.TrimSpace(string(out))))
	}
	return nil
}
