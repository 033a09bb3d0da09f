package linuxperf

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownerOf returns the ID of the user that owns a process.
func ownerOf(pid int) (int, error) {
	info, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid)))
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, os.ErrInvalid
	}
	return int(stat.Uid), nil
}
