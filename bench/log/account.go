package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// account is what the kernel counts; on systems without /proc it stays zero.
type account struct {
	written int64 // bytes that a process caused to be written
	flushes int64 // of all disks' write caches: an fsync that reaches the disk is one, or shares one
}

func readAccount(pid int) account {
	who := "self"
	if pid != 0 {
		who = strconv.Itoa(pid)
	}
	var a account
	io, _ := os.ReadFile("/proc/" + who + "/io")
	for line := range strings.Lines(string(io)) {
		if n, ok := strings.CutPrefix(line, "write_bytes:"); ok {
			a.written, _ = strconv.ParseInt(strings.TrimSpace(n), 10, 64)
		}
	}
	disks, _ := os.ReadFile("/proc/diskstats")
	for line := range strings.Lines(string(disks)) {
		// Field 19 counts flushes. Partitions have none of their own.
		if f := strings.Fields(line); len(f) >= 19 {
			n, _ := strconv.ParseInt(f[18], 10, 64)
			a.flushes += n
		}
	}
	return a
}

// syncTime is the median time that it takes to append 4 KiB to a file and sync it.
func syncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page := make([]byte, 4096)
	times := make([]time.Duration, 51)
	for i := range times {
		begun := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("syncing %s: %w", filepath.Base(f.Name()), err)
		}
		times[i] = time.Since(begun)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
