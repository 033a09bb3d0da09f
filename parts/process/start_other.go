//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// ownGroup makes the child the leader of its own process group. There is no parent-death signal
// here: only the reaper ensures that nothing outlives the parent.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func startOn(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) > 0 {
		return errors.New("pinning a process to CPUs works on Linux only: leave cpus out")
	}
	return cmd.Start()
}

func AllowedCPUs() []int { return firstCPUs(runtime.NumCPU()) }

// reap waits for the process, then calls ended.
func reap(p *os.Process, ended func()) (*os.ProcessState, error) {
	state, err := p.Wait()
	ended()
	return state, err
}

func widen(*os.File) {}
