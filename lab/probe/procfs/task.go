package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Indexes of fields of /proc/PID/stat, counted from the state, which follows the name.
const (
	statUser    = 11
	statSystem  = 12
	statBlocked = 39
)

// statFields returns the fields of /proc/PID/stat after the name. The name is in parentheses, and
// may itself contain any character, even a parenthesis.
func statFields(stat []byte) []string {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return nil
	}
	return strings.Fields(string(stat[end+1:]))
}

// ticks reads a field that counts clock ticks, and returns it in s.
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

// ProcessCPU reads from /proc/PID/stat the CPU time that a process or thread has used, and the part
// of it spent in the kernel, in s.
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

// BlockedIO reads from /proc/PID/task/TID/stat how long a thread has waited for block I/O, in s.
// The kernel counts it only while delay accounting is on (kernel.task_delayacct).
func BlockedIO(stat []byte) (float64, error) { return ticks(statFields(stat), statBlocked) }

// Switches reads the context switches of a thread from /proc/PID/task/TID/status: the voluntary
// ones, after which it waits, and the involuntary ones.
func Switches(status []byte) (waits, preemptions int64, err error) {
	waits, ok := Figure(status, "voluntary_ctxt_switches")
	preemptions, okToo := Figure(status, "nonvoluntary_ctxt_switches")
	if !ok || !okToo || waits < 0 || preemptions < 0 {
		return 0, 0, errors.New("/proc/PID/status has no count of context switches")
	}
	return waits, preemptions, nil
}

// ListenOverflows reads from /proc/net/netstat the number of connections that the kernel dropped
// because the accept queue of their listener was full. The file has the names of its figures in one
// line, and their values in the next.
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
