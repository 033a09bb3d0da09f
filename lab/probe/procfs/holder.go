package procfs

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Holder returns the process that has one of the sockets open; 0: none is visible. If several
// processes have it open, such as forked workers that inherit it, Holder returns the one that was
// started first. root is the folder that contains proc.
func Holder(root string, inodes ...uint64) int {
	processes, _ := filepath.Glob(filepath.Join(root, "proc/[0-9]*"))
	best, since := 0, uint64(0)
	for _, dir := range processes {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !holds(root, pid, inodes) {
			continue
		}
		if began := startTime(dir); best == 0 || began < since || began == since && pid < best {
			best, since = pid, began
		}
	}
	return best
}

// maxFiles is the maximum number of open files of a process that are searched.
const maxFiles = 1 << 20

func holds(root string, pid int, inodes []uint64) bool {
	for inode := range Held(root, pid, maxFiles) {
		if slices.Contains(inodes, inode) {
			return true
		}
	}
	return false
}

// Held iterates over the inodes of the sockets that a process has open. It looks at no more than
// most of its open files. root is the folder that contains proc.
func Held(root string, pid, most int) iter.Seq[uint64] {
	return func(yield func(inode uint64) bool) {
		folder := filepath.Join(root, "proc", strconv.Itoa(pid), "fd")
		dir, err := os.Open(folder)
		if err != nil {
			return // the process has ended, or belongs to another user
		}
		defer dir.Close()
		files, _ := dir.Readdirnames(most)
		for _, fd := range files {
			link, err := os.Readlink(filepath.Join(folder, fd))
			if err != nil {
				continue
			}
			if inode, ok := socketInode(link); ok && !yield(inode) {
				return
			}
		}
	}
}

// socketInode parses the target of the symbolic link of an open socket, as in socket:[4711].
func socketInode(link string) (uint64, bool) {
	text, ok := strings.CutPrefix(link, "socket:[")
	text, closed := strings.CutSuffix(text, "]")
	inode, err := strconv.ParseUint(text, 10, 64)
	return inode, ok && closed && err == nil
}

// startTime returns when a process started, in clock ticks since the machine's start; 0: not known.
func startTime(dir string) uint64 {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain any character. After it, the start time is the 20th
	// field.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0
	}
	ticks, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	return ticks
}
