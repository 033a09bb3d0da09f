//go:build !linux

package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

func executable() (string, error) { return os.Executable() }

// childOfKeeper is empty: here the kernel does not signal a child when its parent dies, and
// PostgreSQL continues when the keeper itself is killed. The next start reports that.
func childOfKeeper() *syscall.SysProcAttr { return nil }

// isStopped reports whether a process is stopped by a signal, or is no more.
func isStopped(pid int) bool {
	state, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(string(state), "T") || strings.HasPrefix(string(state), "Z")
}

// childrenOf lists the processes whose parent is pid.
func childrenOf(pid int) ([]int, error) {
	table, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var children []int
	for line := range strings.Lines(string(table)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil && parent == pid {
			children = append(children, child)
		}
	}
	return children, nil
}
