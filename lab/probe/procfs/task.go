package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Fields of /proc/PID/stat, counted from the state, which follows the name.
const (
	statUser    = 11
	statSystem  = 12
	statBlocked = 39
)

// statFields splits /proc/PID/stat after the name, which is in parentheses and may contain any
// character, parentheses too.
func statFields(stat []byte) []string {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return nil
	}
	return strings.Fields(string(stat[end+1:]))
}

// ticks reads one field that counts CPU time or the like, in s.
func ticks(fields []string, at int) (float64, error) {
	if at >= len(fields) {
		return 0, errors.New("/proc/PID/stat is cut short")
	}
	n, err := strconv.ParseUint(fields[at], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("/proc/PID/stat: %w", err)
	}
	return float64(n) / userHz, nil
}

// ProcessCPU reads the CPU time that a process or thread has used, and the part of it spent in
// the kernel, from /proc/PID/stat, in s.
func ProcessCPU(stat []byte) (total, system float64, err error) {
	fields := statFields(stat)
	user, err := ticks(fields, statUser)
	if err != nil {
		return 0, 0, err
	}
	system, err = ticks(fields, statSystem)
	if err != nil {
		return 0, 0, err
	}
	return user + system, system, nil
}

// BlockedIO reads the time that a thread has waited for a disk from /proc/PID/task/TID/stat, in s.
// The kernel counts it only while delay accounting is on (kernel.task_delayacct).
func BlockedIO(stat []byte) (float64, error) { return ticks(statFields(stat), statBlocked) }

// Switches reads the voluntary context switches of a thread, which then waits, and the
// involuntary ones, from /proc/PID/task/TID/status.
func Switches(status []byte) (waits, preemptions int64, err error) {
	waits, ok := Figure(status, "voluntary_ctxt_switches")
	preemptions, okToo := Figure(status, "nonvoluntary_ctxt_switches")
	if !ok || !okToo || waits < 0 || preemptions < 0 {
		return 0, 0, errors.New("/proc/PID/status has no count of context switches")
	}
	return waits, preemptions, nil
}

// ListenOverflows reads the number of connections that were refused because the accept queue of
// their listener was full from /proc/net/netstat. The file has the names of its figures in one
// line and their values in the next.
func ListenOverflows(netstat []byte) (int64, error) {
	var names []string
	for line := range bytes.Lines(netstat) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || fields[0] != "TcpExt:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names[:min(len(names), len(fields))] {
			if name == "ListenOverflows" {
				n, err := strconv.ParseUint(fields[i], 10, 63)
				return int64(n), err
			}
		}
		break
	}
	return 0, errors.New("netstat has no ListenOverflows")
}
