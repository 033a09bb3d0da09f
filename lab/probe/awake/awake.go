// Package awake keeps the CPUs of a virtual machine from going to sleep while something is measured.
//
// A virtual CPU with nothing to do is halted, and what wakes it up has to wait until the host runs it again. The guest
// sees that as steal, and as latency, though nobody took anything from it; a service that sleeps and wakes thousands of
// times a second can lose a third of its machine like that. A loop on each CPU that has the lowest priority of all
// (SCHED_IDLE) prevents it: the loop gives way at once to anything else in its session. Booting with idle=poll does the
// same to a whole machine.
//
// It is not for a machine that others measure or work on at the same time: under autogroup scheduling, another session
// gets half of a CPU that the loop is on. Nor is it for a control group with a quota, which the loop would use up. Keep
// owns a thread for each CPU; they have ended when it returns.
package awake

import (
	"os"
	"strconv"
)

// Variable of the environment names the process that keeps the CPUs awake to those that measure: what it uses is nobody's.
const Variable = "DYNO_AWAKE"

// PID is the process that keeps the CPUs awake, as the environment has it; 0: none does.
func PID() int {
	pid, err := strconv.ParseUint(os.Getenv(Variable), 10, 31)
	if err != nil {
		return 0
	}
	return int(pid)
}
