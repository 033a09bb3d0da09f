package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listener returns the process that listens on a loopback address (host:port), so that a running
// service can be watched from outside. It finds only processes whose open files it may read: the
// user's own. The error wraps ErrNoListener if there is none.
func Listener(addr string) (pid int, err error) { return listener("/", addr) }

func listener(root, addr string) (int, error) {
	wanted, err := loopback(addr)
	if err != nil {
		return 0, err
	}
	var inodes, all []uint64
	for _, name := range []string{"tcp", "tcp6"} {
		if table, err := os.ReadFile(filepath.Join(root, "proc/net", name)); err == nil { // no tcp6: IPv6 is off
			own, any := listening(table, wanted)
			inodes, all = append(inodes, own...), append(all, any...)
		}
	}
	if len(inodes) == 0 {
		inodes = all
	}
	if len(inodes) == 0 {
		return 0, fmt.Errorf("%s: %w", addr, ErrNoListener)
	}
	pid := holder(root, inodes)
	if pid == 0 {
		return 0, fmt.Errorf("%s: %w: the listener belongs to another user, or is in another container", addr, ErrNoListener)
	}
	return pid, nil
}

// Command returns the kernel's name of a process, its first 15 bytes; empty: it cannot be read.
// The name distinguishes a forwarder (docker-proxy, kubectl, ssh) from the service behind it.
func Command(pid int) string {
	comm, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(comm), "\n")
}

// holder returns the process that has one of the sockets open; if several have, such as forked
// workers that inherit it, the one that was started first.
func holder(root string, inodes []uint64) int {
	processes, _ := filepath.Glob(filepath.Join(root, "proc/[0-9]*"))
	best, since := 0, uint64(0)
	for _, dir := range processes {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !holds(dir, inodes) {
			continue
		}
		if began := startTime(dir); best == 0 || began < since || began == since && pid < best {
			best, since = pid, began
		}
	}
	return best
}

// maxFiles bounds the open files of a process that are searched.
const maxFiles = 1 << 20

func holds(dir string, inodes []uint64) bool {
	folder, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return false
	}
	defer folder.Close()
	files, _ := folder.Readdirnames(maxFiles)
	return slices.ContainsFunc(files, func(fd string) bool {
		link, err := os.Readlink(filepath.Join(dir, "fd", fd))
		if err != nil {
			return false
		}
		inode, ok := socketInode(link)
		return ok && slices.Contains(inodes, inode)
	})
}

// startTime returns the start of a process, in clock ticks since the machine's start; 0: not
// known.
func startTime(dir string) uint64 {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain any character; after it, start time is the 20th
	// field.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0
	}
	ticks, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return ticks
}
