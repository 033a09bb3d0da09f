package host

import (
	"debug/buildinfo"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Program returns the name of a process's executable and, if Go built it, its main module. Both
// are empty if they cannot be read; notGo is true only if the executable could be read and Go did
// not build it.
func Program(pid int) (name, module string, notGo bool) {
	exe := filepath.Join("/proc", strconv.Itoa(pid), "exe")
	if file, err := os.Readlink(exe); err == nil {
		name = filepath.Base(strings.TrimSuffix(file, " (deleted)"))
	}
	info, err := buildinfo.ReadFile(exe)
	if err != nil {
		return name, "", !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
	}
	return name, info.Main.Path, false
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
