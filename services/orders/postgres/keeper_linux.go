package postgres

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// executable is the program that runs. The kernel's own link to it can be followed also where the
// unprivileged user may not enter the folder, such as below /root or in the temporary one of go
// run.
func executable() (string, error) { return "/proc/self/exe", nil }

// childOfKeeper has the kernel stop PostgreSQL immediately, with recovery at the next start, when
// the keeper itself is killed.
func childOfKeeper() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT} }

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

// isStopped reports whether a process is stopped by a signal, or is no more.
func isStopped(pid int) bool {
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
