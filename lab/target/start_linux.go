package target

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup makes the child the leader of its own process group and has the kernel kill it when the
// thread that forked it ends, which is when the lab does.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startOn starts cmd on the CPUs named. The calling thread, which must be locked, takes on the set for
// the moment of the fork: the child has it before exec and so has every thread it will ever make.
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

// maxCPUs is how many CPUs a unix.CPUSet holds.
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

// allowedCPUs lists the CPUs that this process may use.
func allowedCPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &set) != nil {
		return firstCPUs(runtime.NumCPU())
	}
	return members(&set)
}

// reap waits for the process and calls ended between its end and its reaping, while its ID cannot have
// been given to another.
func reap(p *os.Process, ended func()) (*os.ProcessState, error) {
	for unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	ended()
	return p.Wait()
}

// pipeSize is how much output a process may be ahead of the lab, in bytes, before it has to wait: as
// much as an unprivileged process may ask for. The lab's threads may be kept off the CPU for a while
// when the load generator runs at real-time priority.
const pipeSize = 1 << 20

func widen(pipe *os.File) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	conn.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}
