package postgres

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// executable is the program that runs. The kernel's own link to it can be followed also where the
// unprivileged user may not enter the folder, such as below /root or in the temporary one of go
// run.
func executable() (string, error) { return "/proc/self/exe", nil }

// childOfKeeper has the kernel stop PostgreSQL immediately, with recovery at the next start, when
// the keeper itself is killed.
func childOfKeeper() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }

// passing are the capabilities with which a process may enter any folder, the one that allows less
// first. Containers often have the second only.
var passing = []uintptr{unix.CAP_DAC_READ_SEARCH, unix.CAP_DAC_OVERRIDE}

// passed returns the first of passing that this process has.
func passed() (capability uintptr, ok bool) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return 0, false
	}
	for _, c := range passing {
		if data[0].Permitted&(1<<c) != 0 {
			return c, true
		}
	}
	return 0, false
}

// mayPass reports whether pass can do its work.
func mayPass() bool {
	_, ok := passed()
	return ok
}

// pass has an unprivileged process enter folders that are closed to it, such as one below /root,
// and keep that right when it executes PostgreSQL.
func pass(to *syscall.SysProcAttr) {
	if c, ok := passed(); ok {
		to.AmbientCaps = []uintptr{c}
	}
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(pid int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		if parent, ok := parentIn(stat); ok && parent == pid {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			children = append(children, child)
		}
	}
	return children, nil
}

// stopped reports whether a process is stopped by a signal, or is no more.
func stopped(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 0 && (fields[0][0] == 'T' || fields[0][0] == 'Z')
}

// parentIn reads the parent from a line of proc(5) stat: "PID (NAME) STATE PARENT ...", where the
// name may hold anything.
func parentIn(stat []byte) (int, bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
