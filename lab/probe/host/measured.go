package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"dyno/lab/probe/procfs"
)

// Shares of the machine that others may take while it is watched. Above the higher limit, a run
// counts as disturbed; an idle machine stays below the lower one.
const (
	neighbourWarn = 0.03
	neighbourBad  = 0.10
	stealWarn     = 0.005
	stealBad      = 0.02
)

// watched is the activity of the machine over a second, as shares of all its CPUs.
type watched struct{ others, steal float64 }

// second returns the activity of the machine over a second, which the first call measures.
func (h *host) second(ctx context.Context) (watched, error) {
	if h.seen == nil {
		w, err := h.watch(ctx)
		h.seen, h.seenErr = &w, err
	}
	return *h.seen, h.seenErr
}

func (h *host) watch(ctx context.Context) (watched, error) {
	self, selfKnown := h.selfCPU()
	busy, steal, err := h.cpuTimes()
	if err != nil {
		return watched{}, err
	}
	began := h.now()
	if err := h.waitSecond(ctx); err != nil {
		return watched{}, fmt.Errorf("stopped before the second was over: %w", err)
	}
	busyAfter, stealAfter, err := h.cpuTimes()
	if err != nil {
		return watched{}, err
	}
	length := h.now().Sub(began).Seconds()
	selfAfter, _ := h.selfCPU()
	if !selfKnown {
		self, selfAfter = 0, 0
	}
	if busyAfter < busy || busyAfter == 0 || length <= 0 {
		return watched{}, errors.New("/proc/stat does not count here")
	}
	all := length * float64(max(h.cores, 1))
	own := selfAfter - self
	return watched{others: max(0, busyAfter-busy-own) / all, steal: max(0, stealAfter-steal) / all}, nil
}

// cpuTimes reads the CPU time used on the CPUs that this process may use, and the time stolen from
// them, in s.
func (h *host) cpuTimes() (busy, steal float64, err error) {
	b, err := fs.ReadFile(h.files, "proc/stat")
	if err != nil {
		return 0, 0, err
	}
	var cpus []int
	if status, err := fs.ReadFile(h.files, "proc/self/status"); err == nil {
		cpus, _ = procfs.AllowedCPUs(status)
	}
	return procfs.CPUTimes(b, cpus)
}

func neighbours(ctx context.Context, h *host) Check {
	const means = "other processes take CPU time from service and generator, and a run in which they take 10% counts as disturbed"
	w, err := h.second(ctx)
	if err != nil {
		return unread(err, means)
	}
	c := Check{Status: OK, Value: fmt.Sprintf("%.1f%% of the machine over 1 s", w.others*100), Means: "hardly anything else runs"}
	switch {
	case w.others > neighbourBad:
		c.Status = Bad
	case w.others > neighbourWarn:
		c.Status = Warn
	}
	if c.Status != OK {
		c.Means, c.Fix = means, "find them with top, and stop them or measure later"
	}
	return c
}

func steal(ctx context.Context, h *host) Check {
	const means = "the hypervisor gives this machine's CPUs to others: pauses that nothing in here can explain"
	w, err := h.second(ctx)
	if err != nil {
		return unread(err, means)
	}
	c := Check{Status: OK, Value: fmt.Sprintf("%.1f%% over 1 s", w.steal*100), Means: "the hypervisor took next to nothing"}
	switch {
	case w.steal > stealBad:
		c.Status = Bad
	case w.steal > stealWarn:
		c.Status = Warn
	}
	if c.Status != OK {
		c.Means, c.Fix = means, "measure on a machine with CPUs of its own (dedicated, or bare metal)"
	}
	return c
}

func wakeLatency(_ context.Context, h *host) Check {
	const means = "a virtual CPU that halted is slow to wake up, which shows as steal and latency that no other guest caused"
	release, held, why := h.holdLatency()
	release()
	if held {
		return Check{Status: OK, Value: "held at 0 while measuring", Means: "a virtual CPU with nothing to do polls instead of halting"}
	}
	c := Check{Status: OK, Value: "not held: " + why, Means: "hardware wakes up in microseconds"}
	if info, err := fs.ReadFile(h.files, "proc/cpuinfo"); err == nil && procfs.Virtual(info) {
		c.Status, c.Means = Warn, means
		c.Fix = "run dyno as root on mains power, without a CPU quota; KVM without a cpuidle driver: boot the guest with cpuidle_haltpoll.force=1"
	}
	return c
}

// wakeup is how late a thread woke up from sleeps of a set time.
type wakeup struct{ median, p99 time.Duration }

// Limits of the lateness: the load generator sends that late.
const (
	lateWarn = 100 * time.Microsecond // of the median
	tailWarn = time.Millisecond       // of the p99
	tailBad  = 10 * time.Millisecond
)

func wakeUp(ctx context.Context, h *host) Check {
	const means = "the load generator sends as late as it wakes up; latency counts from when it should have sent, so this is in every figure"
	w, err := h.wakeups(ctx)
	if err != nil {
		return unread(err, means)
	}
	c := Check{Status: OK, Value: fmt.Sprintf("median %v, p99 %v late", w.median.Round(time.Microsecond), w.p99.Round(time.Microsecond)),
		Means: "a sleeping thread wakes up when it should"}
	switch {
	case w.p99 > tailBad:
		c.Status = Bad
	case w.median > lateWarn || w.p99 > tailWarn:
		c.Status = Warn
	}
	if c.Status != OK {
		c.Means, c.Fix = means, "stop the neighbours; allow real-time priority; on a laptop, plug it in"
	}
	return c
}

// defaultSlack is Linux's default timer slack of a thread, in ns.
const defaultSlack = 50_000

func timerSlack(_ context.Context, h *host) Check {
	const means = "the kernel may delay every sleep of the service by as much, to save wake-ups"
	ns, err := h.number("proc/self/timerslack_ns")
	if err != nil {
		return unread(err, means)
	}
	c := Check{Status: OK, Value: fmt.Sprint(time.Duration(ns)), Means: "as usual; the raw engine's threads set their own to 1 ns"}
	if ns > defaultSlack {
		c.Status, c.Means, c.Fix = Warn, means, "start dyno from a process with the usual timer slack of 50 us"
	}
	return c
}

func realtime(_ context.Context, h *host) Check {
	if err := h.realtime(); err != nil {
		return Check{Status: Warn, Value: "not permitted: " + err.Error(),
			Means: "with few cores the generator waits behind the service for a CPU and sends late",
			Fix:   "setcap cap_sys_nice+ep on dyno, or ulimit -r 1"}
	}
	return Check{Status: OK, Value: "permitted", Means: "the generator can send on time next to a busy service"}
}

func ioURing(_ context.Context, h *host) Check {
	if err := h.uring(); err != nil {
		return Check{Status: OK, Value: "not available: " + err.Error(), Means: "the raw engine uses epoll, which measures as well",
			Fix: "sysctl -w kernel.io_uring_disabled=0, where a policy closed it"}
	}
	return Check{Status: OK, Value: "available", Means: "the raw engine can choose between io_uring and epoll"}
}
