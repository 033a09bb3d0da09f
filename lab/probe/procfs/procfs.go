// Package procfs parses the text files of Linux in /proc and /sys. A function takes the content of
// a file, or the file system that contains it, does not trust it, and returns times in seconds and
// sizes in bytes. It also finds processes by their TCP sockets: the process that listens at an
// address, the listeners that a process calls, and the lengths of accept queues (sock_diag(7)). Of
// other users' processes it finds only what the kernel shows.
//
// It is not for interpreting the figures (usage, host). It starts no goroutines.
//
// github.com/prometheus/procfs reads the same files, but allocates more for each reading, and the
// probe reads up to ten times a second for each process and thread.
package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// userHz is the number of clock ticks per second in /proc: 100 in the user interface of every
// kernel.
const userHz = 100

// CPUTimes reads /proc/stat: the CPU time that was used, and the time that the hypervisor took
// (steal), in s. It sums over the given CPUs, or over all if none are given.
func CPUTimes(stat []byte, cpus []int) (busy, steal float64, err error) {
	found := 0
	for line := range bytes.Lines(stat) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			break // the CPUs come first
		}
		if number := fields[0][len("cpu"):]; len(cpus) == 0 {
			if number != "" {
				continue
			}
		} else if n, err := strconv.Atoi(number); err != nil || !slices.Contains(cpus, n) {
			continue
		}
		b, s, err := cpuLine(fields[1:])
		if err != nil {
			return 0, 0, err
		}
		busy, steal, found = busy+b, steal+s, found+1
	}
	if found == 0 {
		return 0, 0, errors.New("/proc/stat names none of the CPUs")
	}
	return busy, steal, nil
}

// cpuLine reads user, nice, system, idle, iowait, irq, softirq and steal. It leaves out guest time,
// which is part of user.
func cpuLine(fields []string) (busy, steal float64, err error) {
	const idle, iowait, stealAt = 3, 4, 7
	if len(fields) <= idle {
		return 0, 0, errors.New("/proc/stat: a CPU has fewer than four figures")
	}
	for i, f := range fields[:min(len(fields), stealAt+1)] {
		n, err := strconv.ParseUint(f, 10, 63)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		switch i {
		case idle, iowait:
		case stealAt:
			steal = float64(n) / userHz
		default:
			busy += float64(n) / userHz
		}
	}
	return busy, steal, nil
}

// Resident reads the number of resident pages from /proc/PID/statm.
func Resident(statm []byte) (pages int64, err error) {
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0, errors.New("/proc/PID/statm is cut short")
	}
	n, err := strconv.ParseUint(fields[1], 10, 48)
	if err != nil {
		return 0, fmt.Errorf("/proc/PID/statm: %w", err)
	}
	return int64(n), nil
}

// Scheduled reads the time a thread ran, and the time it was runnable but waited for a CPU, from
// /proc/PID/task/TID/schedstat, in s.
func Scheduled(schedstat []byte) (ran, delayed float64, err error) {
	fields := strings.Fields(string(schedstat))
	if len(fields) < 2 {
		return 0, 0, errors.New("schedstat is cut short")
	}
	first, err := strconv.ParseUint(fields[0], 10, 63)
	if err != nil {
		return 0, 0, fmt.Errorf("schedstat: %w", err)
	}
	second, err := strconv.ParseUint(fields[1], 10, 63)
	if err != nil {
		return 0, 0, fmt.Errorf("schedstat: %w", err)
	}
	return float64(first) / 1e9, float64(second) / 1e9, nil
}

// Pressure reads from a file of /proc/pressure how long some task waited, in s.
func Pressure(psi []byte) (float64, error) {
	for line := range bytes.Lines(psi) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || fields[0] != "some" {
			continue
		}
		for _, f := range fields[1:] {
			if total, ok := strings.CutPrefix(f, "total="); ok {
				us, err := strconv.ParseUint(total, 10, 63)
				if err != nil {
					return 0, fmt.Errorf("/proc/pressure: %w", err)
				}
				return float64(us) / 1e6, nil
			}
		}
	}
	return 0, errors.New("/proc/pressure: no total of some")
}

// maxCPUs is the maximum length of a list of CPUs, and the maximum of any build of the kernel.
const maxCPUs = 8192

// AllowedCPUs reads the CPUs that a process may use from its /proc/PID/status.
func AllowedCPUs(status []byte) ([]int, error) {
	for line := range bytes.Lines(status) {
		if list, ok := bytes.CutPrefix(line, []byte("Cpus_allowed_list:")); ok {
			return CPUList(strings.TrimSpace(string(list)))
		}
	}
	return nil, errors.New("/proc/PID/status has no Cpus_allowed_list")
}

// CPUList parses the kernel's form of a set of CPUs: 0-3,8.
func CPUList(list string) ([]int, error) {
	var out []int
	for _, part := range strings.Split(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.ParseUint(low, 10, 16)
		to, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil || from > to || to >= maxCPUs {
			return nil, fmt.Errorf("%q is no list of CPUs", list)
		}
		for c := from; c <= to && len(out) < maxCPUs; c++ {
			out = append(out, int(c))
		}
	}
	return out, nil
}

// IDs parses process IDs separated by white space, and returns no more than most.
func IDs(b []byte, most int) []int {
	var out []int
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.ParseUint(f, 10, 31); err == nil && n > 0 && len(out) < most {
			out = append(out, int(n))
		}
	}
	return out
}

// MemTotal reads the machine's memory from /proc/meminfo, in bytes.
func MemTotal(meminfo []byte) (int64, error) {
	for line := range bytes.Lines(meminfo) {
		if fields := strings.Fields(string(line)); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseUint(fields[1], 10, 50)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: %w", err)
			}
			return int64(kib) * 1024, nil
		}
	}
	return 0, errors.New("/proc/meminfo has no MemTotal")
}

// CPUModel reads the processor's name from /proc/cpuinfo; empty: the file does not have it, as on
// many ARM machines.
func CPUModel(cpuinfo []byte) string {
	for line := range bytes.Lines(cpuinfo) {
		name, value, ok := strings.Cut(string(line), ":")
		switch strings.TrimSpace(name) {
		case "model name", "Model", "cpu model", "Processor":
			if value = strings.TrimSpace(value); ok && value != "" {
				return value
			}
		}
	}
	return ""
}

// Virtual reports whether /proc/cpuinfo says that the processor belongs to a virtual machine.
func Virtual(cpuinfo []byte) bool {
	for line := range bytes.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(name) == "flags" {
			return slices.Contains(strings.Fields(value), "hypervisor")
		}
	}
	return false
}
