package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"dyno/lab/probe/procfs"
)

func cores(_ context.Context, h *host) Check {
	c := Check{Status: OK, Value: fmt.Sprint(h.cores), Means: "the load generator has a core to itself, and the service has the others"}
	switch {
	case h.cores < 2:
		c.Status, c.Means = Bad, "service and load generator take turns on one core: latency shows the turns, and nothing contends"
		c.Fix = "measure on a machine with 2 cores or more, best with 4"
	case h.cores < 4:
		c.Status, c.Means = Warn, "service and load generator share the cores; the generator's share is part of every result"
		c.Fix = "measure on a machine with 4 cores or more"
	}
	return c
}

func smt(_ context.Context, h *host) Check {
	const means = "two hardware threads of one core slow each other down by a third or so, whichever work they do"
	active, err := h.number("sys/devices/system/cpu/smt/active")
	if errors.Is(err, fs.ErrNotExist) {
		return absent(means)
	}
	if err != nil {
		return unread(err, means)
	}
	if active == 0 {
		return Check{Status: OK, Value: "off", Means: "each CPU is a core of its own, as far as this system is shown"}
	}
	siblings, err := h.text("sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
	value := "on"
	if err == nil {
		value = "on; CPU 0 shares a core with: " + siblings
	}
	return Check{Status: Warn, Value: value, Means: means, Fix: "echo off > /sys/devices/system/cpu/smt/control while measuring"}
}

func cgroupCPU(_ context.Context, h *host) Check {
	const means = "a group that has used up its quota stands still for the rest of each 100 ms: that is the p99 you would report"
	dirs, v2, err := procfs.Cgroups(h.files, "self", "cpu")
	if err != nil {
		return unread(err, means)
	}
	lowest, _, err := procfs.LowestQuota(h.files, dirs, v2)
	if err != nil {
		return unread(err, means)
	}
	throttled := int64(0)
	for _, dir := range dirs {
		if stat, err := fs.ReadFile(h.files, path.Join(dir, "cpu.stat")); err == nil {
			n, _ := procfs.Figure(stat, "nr_throttled")
			throttled = max(throttled, n)
		}
	}
	if lowest == procfs.NoQuota {
		return Check{Status: OK, Value: "no limit", Means: "no group's quota holds the service up"}
	}
	c := Check{Status: Warn, Value: fmt.Sprintf("%.2f CPUs of %d", lowest, h.cores), Means: means,
		Fix: "measure outside the container, or give it whole CPUs (a cpuset) in place of a quota"}
	if throttled > 0 {
		c.Value += fmt.Sprintf("; held up %d times so far", throttled)
	}
	if lowest < float64(h.cores) {
		c.Status = Bad
	}
	return c
}

func governor(_ context.Context, h *host) Check {
	const means = "a governor that saves power changes the clock rate with the load, so that low loads look slow"
	files, err := fs.Glob(h.files, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
	if err != nil {
		return unread(err, means)
	}
	if len(files) == 0 {
		return Check{Status: OK, Value: "not set here", Means: "the clock rate is the hardware's or the hypervisor's affair"}
	}
	var names []string
	for _, f := range files {
		name, err := h.text(f)
		if err != nil {
			return unread(err, means)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	c := Check{Status: OK, Value: strings.Join(names, ", "), Means: "the clock rate is held high"}
	if len(names) != 1 || names[0] != "performance" {
		c.Status, c.Means, c.Fix = Warn, means, "cpupower frequency-set -g performance"
	}
	return c
}

func clocksource(_ context.Context, h *host) Check {
	name, err := h.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return unread(err, "a slow clock makes each of the service's and the lab's time stamps a system call")
	}
	switch name {
	case "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource":
		return Check{Status: OK, Value: name, Means: "the clock is read without a system call, in some 25 ns"}
	}
	return Check{Status: Bad, Value: name, Means: "each time stamp is a system call of up to some us; a Go service takes several a request",
		Fix: "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, or boot with clocksource=tsc"}
}

func autogroup(_ context.Context, h *host) Check {
	const means = "what is started from one terminal shares one weight: another terminal's build gets as much CPU as service and generator together"
	on, err := h.number("proc/sys/kernel/sched_autogroup_enabled")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent(means)
	case err != nil:
		return unread(err, means)
	case on == 0:
		return Check{Status: OK, Value: "off", Means: "every process is weighed individually"}
	}
	return Check{Status: Warn, Value: "on", Means: means, Fix: "sysctl -w kernel.sched_autogroup_enabled=0"}
}

func numaBalancing(_ context.Context, h *host) Check {
	const means = "the kernel unmaps pages to learn which CPUs use them: page faults in the middle of requests, more of them in some runs"
	nodes, err := h.text("sys/devices/system/node/online")
	if err == nil && nodes == "0" {
		return Check{Status: OK, Value: "one node", Means: "all memory is equally near"}
	}
	mode, err := h.number("proc/sys/kernel/numa_balancing")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent(means)
	case err != nil:
		return unread(err, means)
	case mode == 0:
		return Check{Status: OK, Value: "off, nodes " + nodes, Means: "pages stay where they are"}
	}
	return Check{Status: Warn, Value: "on, nodes " + nodes, Means: means,
		Fix: "sysctl -w kernel.numa_balancing=0, and numactl --cpunodebind=0 --membind=0"}
}

func perfEvents(_ context.Context, h *host) Check {
	const means = "cache and TLB misses per request can be counted, where the processor shows its counters"
	const ownProcesses = 2 // highest level at which an unprivileged process may count events of its own in user mode
	level, err := h.number("proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return unread(err, "without hardware counters, misses per request stay unknown")
	}
	c := Check{Status: OK, Value: fmt.Sprint(level), Means: means}
	if level > ownProcesses && !h.root {
		c.Status, c.Means = Warn, "hardware counters are closed to this user: misses per request stay unknown"
		c.Fix = "sysctl -w kernel.perf_event_paranoid=2"
	}
	return c
}
