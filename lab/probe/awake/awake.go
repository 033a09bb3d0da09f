// Package awake keeps the CPUs of a virtual machine from going to sleep while something is measured.
//
// A virtual CPU with nothing to do is halted, and what wakes it up has to wait until the host runs it again. The guest
// sees that as steal, and as latency, though nobody took anything from it. A loop on each CPU that has the lowest priority
// of all (SCHED_IDLE) prevents it: the loop gives way at once to anything else in its session. Booting with idle=poll does
// the same to a whole machine.
//
// It is not for a machine that others measure or work on at the same time: under autogroup scheduling, another session
// shares a CPU with the loop that is on it, half and half. Nor is it for a control group with a quota or a host that counts
// credits, which the loops would use up. Keep owns a goroutine and a thread for each CPU; they have ended when its stop
// returns.
package awake

import (
	"os"
	"strconv"
)

// Variable is what in the environment tells those that measure which process keeps the CPUs awake: what that uses is nobody's.
const Variable = "DYNO_AWAKE"

// PID is the process that keeps the CPUs awake; 0: none does.
func PID() int {
	pid, err := strconv.ParseUint(os.Getenv(Variable), 10, 31)
	if err != nil || loops(int(pid)) == 0 { // it may have ended
		return 0
	}
	return int(pid)
}
