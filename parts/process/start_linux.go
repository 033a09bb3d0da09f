package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child the leader of its own process group, and has the kernel kill it when
// the thread that forked it ends, which happens when the parent ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startOn starts cmd on the given CPUs. The calling thread, which must be locked, takes on that
// affinity for the moment of the fork: the child has it before exec, and all its threads inherit
// it.
func startOn(cmd *exec.Cmd, cpus []int) error {
	if len(cpus) == 0 {
		return cmd.Start()
	}
	var set, before unix.CPUSet
	for _, c := range cpus {
		if c < 0 || c >= maxCPUs {
			return fmt.Errorf("CPU %d cannot exist", c)
		}
		set.Set(c)
	}
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to CPUs %v of %v: %w", cpus, members(&before), err)
	}
	defer unix.SchedSetaffinity(0, &before)
	return cmd.Start()
}

// maxCPUs is the number of CPUs in a unix.CPUSet.
const maxCPUs = 1024

func members(set *unix.CPUSet) []int {
	var out []int
	for c := range maxCPUs {
		if set.IsSet(c) {
			out = append(out, c)
		}
	}
	return out
}

// AllowedCPUs lists the CPUs that this process may use.
func AllowedCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &set) != nil {
		return firstCPUs(runtime.NumCPU())
	}
	return members(&set)
}

// reap waits for the process and calls ended after its end and before its reaping, while the
// kernel cannot give its ID to another process.
func reap(p *os.Process, ended func()) (*os.ProcessState, error) {
	for unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	ended()
	return p.Wait()
}

// pipeSize is the number of output bytes that a process may be ahead of its reader before it
// blocks: the most that an unprivileged process may set. When the load generator runs at real-time
// priority, the reader's threads may be kept off the CPU for a while.
const pipeSize = 1 << 20

func widen(pipe *os.File) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	conn.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}
