package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"dyno/lab/probe/procfs"
)

const (
	gib = 1 << 30 // bytes
	// roomyMemory is the memory limit below which a Go service with its page cache competes for
	// memory with the histograms of the lab, in bytes.
	roomyMemory = 2 * gib
)

func cgroupMemory(_ context.Context, h *host) Check {
	const means = "near the limit the kernel reclaims the page cache in the middle of requests, and past it kills"
	dirs, v2, err := procfs.Cgroups(h.files, "self", "memory")
	if err != nil {
		return unread(err, means)
	}
	file := "memory.limit_in_bytes"
	if v2 {
		file = "memory.max"
	}
	lowest := procfs.NoMemory
	for _, dir := range dirs {
		b, err := fs.ReadFile(h.files, path.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return unread(err, means)
		}
		limit, err := procfs.MemoryLimit(b)
		if err != nil {
			return unread(err, means)
		}
		if limit != procfs.NoMemory && (lowest == procfs.NoMemory || limit < lowest) {
			lowest = limit
		}
	}
	switch {
	case lowest == procfs.NoMemory:
		return Check{Status: OK, Value: "no limit", Means: "the machine's memory is the only limit"}
	case lowest >= roomyMemory:
		return Check{Status: OK, Value: fmt.Sprintf("%.1f GiB", float64(lowest)/gib), Means: "service and lab have room below the limit"}
	}
	return Check{Status: Warn, Value: fmt.Sprintf("%.2f GiB", float64(lowest)/gib), Means: means,
		Fix: "give the container 2 GiB or more, and the service a GOMEMLIMIT below that"}
}

func hugePages(_ context.Context, h *host) Check {
	const means = "the kernel joins pages in the background: memory and latency differ from run to run"
	b, err := fs.ReadFile(h.files, "sys/kernel/mm/transparent_hugepage/enabled")
	if errors.Is(err, fs.ErrNotExist) {
		return absent(means)
	}
	if err != nil {
		return unread(err, means)
	}
	choice, err := procfs.Chosen(b)
	if err != nil {
		return unread(err, means)
	}
	if choice == "always" {
		return Check{Status: Warn, Value: choice, Means: means, Fix: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"}
	}
	return Check{Status: OK, Value: choice, Means: "only memory that asks for huge pages has them"}
}

// readySwap is the maximum swappiness at which the kernel swaps out memory in use only when it
// must.
const readySwap = 10

func swap(_ context.Context, h *host) Check {
	const means = "a page that was swapped out costs milliseconds when a request touches it"
	meminfo, err := fs.ReadFile(h.files, "proc/meminfo")
	if err != nil {
		return unread(err, means)
	}
	total, known := procfs.Figure(meminfo, "SwapTotal")
	if !known {
		return unread(errors.New("meminfo has no SwapTotal"), means)
	}
	if total == 0 {
		return Check{Status: OK, Value: "no swap", Means: "nothing is swapped out"}
	}
	swappiness, err := h.number("proc/sys/vm/swappiness")
	if err != nil {
		return unread(err, means)
	}
	free, _ := procfs.Figure(meminfo, "SwapFree")
	c := Check{Status: OK, Value: fmt.Sprintf("swappiness %d, %d of %d MiB in use", swappiness, (total-free)>>10, total>>10),
		Means: "memory in use is swapped out only when there is no other way"}
	if swappiness > readySwap {
		c.Status, c.Means, c.Fix = Warn, means, "sysctl -w vm.swappiness=1, or swapoff -a while measuring"
	}
	return c
}
