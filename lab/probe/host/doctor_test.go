package host

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// healthy returns a machine that passes every check. Its waitSecond advances the clock by a second,
// in which the machine uses 0.02 s of CPU time, 0.01 s of it by this process.
func healthy() *host {
	files := fstest.MapFS{}
	h := &host{files: files, cores: 4}
	put := func(path, text string) { files[path] = &fstest.MapFile{Data: []byte(text + "\n")} }
	put("sys/devices/system/cpu/smt/active", "0")
	put("proc/self/cgroup", "0::/user.slice")
	put("proc/self/mountinfo", "26 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
	put("sys/fs/cgroup/user.slice/cpu.max", "max 100000")
	put("sys/fs/cgroup/user.slice/memory.max", "max")
	put("proc/stat", "cpu 100 0 0 0 0 0 0 0")
	put("proc/cpuinfo", "processor : 0\nflags : fpu sse2")
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance")
	put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance")
	put("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
	put("proc/self/timerslack_ns", "50000")
	put("proc/sys/kernel/sched_autogroup_enabled", "0")
	put("sys/devices/system/node/online", "0")
	put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
	put("proc/meminfo", "MemTotal: 1000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB")
	put("proc/sys/net/core/somaxconn", "4096")
	put("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999")
	put("proc/net/sockstat", "TCP: inuse 1 orphan 0 tw 2 alloc 1 mem 0")
	put("proc/sys/kernel/perf_event_paranoid", "2")

	now, used := time.Unix(0, 0), 0.0
	h.now = func() time.Time { return now }
	h.holdLatency = func() (func(), bool, string) { return func() {}, true, "" }
	h.openFiles = func() (uint64, error) { return 1 << 20, nil }
	h.realtime = func() error { return nil }
	h.uring = func() error { return nil }
	h.wakeups = func(context.Context) (wakeup, error) {
		return wakeup{10 * time.Microsecond, 200 * time.Microsecond}, nil
	}
	h.selfCPU = func() (float64, bool) { return used, true }
	h.waitSecond = func(context.Context) error {
		now, used = now.Add(time.Second), used+0.01
		put("proc/stat", "cpu 102 0 0 0 0 0 0 0")
		return nil
	}
	return h
}

func notHeld(why string) func() (func(), bool, string) {
	return func() (func(), bool, string) { return func() {}, false, why }
}

func (h *host) put(path, text string) {
	h.files.(fstest.MapFS)[path] = &fstest.MapFile{Data: []byte(text + "\n")}
}

func (h *host) drop(path string) { delete(h.files.(fstest.MapFS), path) }

// afterSecond makes stat the content of /proc/stat when the second is over.
func (h *host) afterSecond(stat string) {
	wait := h.waitSecond
	h.waitSecond = func(ctx context.Context) error { err := wait(ctx); h.put("proc/stat", stat); return err }
}

func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	i := slices.IndexFunc(checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check is called %s", name)
	}
	return checks[i]
}

func TestHealthyMachine(t *testing.T) {
	checks := examine(t.Context(), healthy())
	seen := map[string]bool{}
	for _, c := range checks {
		if c.Status != OK || c.Fix != "" {
			t.Errorf("%+v", c)
		}
		if c.Value == "" || c.Means == "" || seen[c.Name] {
			t.Errorf("says too little, or twice: %+v", c)
		}
		seen[c.Name] = true
	}
	if len(seen) != 22 {
		t.Errorf("%d checks: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}

func TestChecks(t *testing.T) {
	const cgroupV1 = "sys/fs/cgroup/cpu/"
	v1 := func(h *host) {
		h.put("proc/self/cgroup", "2:memory:/box\n1:cpu:/box\n0::/")
		h.put("proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory")
	}
	tests := []struct {
		check  string
		change func(*host)
		status Status
		value  string // a part of the value
	}{
		{"cores", func(h *host) { h.cores = 1 }, Bad, "1"},
		{"cores", func(h *host) { h.cores = 2 }, Warn, "2"},
		{"smt", func(h *host) {
			h.put("sys/devices/system/cpu/smt/active", "1")
			h.put("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0,16")
		}, Warn, "on; CPU 0 shares a core with: 0,16"},
		{"smt", func(h *host) { h.drop("sys/devices/system/cpu/smt/active") }, OK, "not in this kernel"},
		{"smt", func(h *host) { h.put("sys/devices/system/cpu/smt/active", "?") }, Warn, "not known"},
		{"cgroup-cpu", func(h *host) {
			h.put("sys/fs/cgroup/user.slice/cpu.max", "150000 100000")
			h.put("sys/fs/cgroup/user.slice/cpu.stat", "nr_periods 9\nnr_throttled 7")
		}, Bad, "1.50 CPUs of 4; held up 7 times"},
		{"cgroup-cpu", func(h *host) { h.put("sys/fs/cgroup/cpu.max", "800000 100000") }, Warn, "8.00 CPUs"},
		{"cgroup-cpu", func(h *host) {
			h.put("sys/fs/cgroup/cpu.max", "50000 100000")
			h.put("sys/fs/cgroup/user.slice/cpu.max", "200000 100000")
		}, Bad, "0.50 CPUs"},
		{"cgroup-cpu", func(h *host) {
			v1(h)
			h.put(cgroupV1+"box/cpu.cfs_quota_us", "200000")
			h.put(cgroupV1+"box/cpu.cfs_period_us", "100000")
			h.put(cgroupV1+"cpu.cfs_quota_us", "-1")
			h.put(cgroupV1+"cpu.cfs_period_us", "100000")
		}, Bad, "2.00 CPUs"},
		{"cgroup-cpu", func(h *host) { h.put("sys/fs/cgroup/user.slice/cpu.max", "?") }, Warn, "not known"},
		{"cgroup-cpu", func(h *host) { h.drop("proc/self/cgroup") }, Warn, "does not show it"},
		{"cgroup-memory", func(h *host) { h.put("sys/fs/cgroup/user.slice/memory.max", "1073741824") }, Warn, "1.00 GiB"},
		{"cgroup-memory", func(h *host) { h.put("sys/fs/cgroup/user.slice/memory.max", "8589934592") }, OK, "8.0 GiB"},
		{"cgroup-memory", func(h *host) { v1(h); h.put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "536870912") }, Warn, "0.50 GiB"},
		{"cgroup-memory", func(h *host) { v1(h); h.put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712") }, OK, "no limit"},
		{"neighbours", func(h *host) { h.afterSecond("cpu 117 0 0 0 0 0 0 0") }, Warn, "4.0%"},
		{"neighbours", func(h *host) { h.afterSecond("cpu 151 0 0 0 0 0 0 0") }, Bad, "12.5%"},
		{"neighbours", func(h *host) { h.drop("proc/stat") }, Warn, "does not show it"},
		{"neighbours", func(h *host) { h.put("proc/stat", "cpu 0 0 0 0"); h.afterSecond("cpu 0 0 0 0") }, Warn, "does not count here"},
		{"neighbours", func(h *host) { h.waitSecond = func(context.Context) error { return context.Canceled } }, Warn, "stopped"},
		{"steal", func(h *host) { h.afterSecond("cpu 102 0 0 0 0 0 0 4") }, Warn, "1.0%"},
		{"steal", func(h *host) { h.afterSecond("cpu 102 0 0 0 0 0 0 40") }, Bad, "10.0%"},
		{"pm-qos", func(h *host) { h.holdLatency = notHeld("not virtual") }, OK, "not held: not virtual"},
		{"pm-qos", func(h *host) {
			h.put("proc/cpuinfo", "flags : fpu hypervisor sse2")
			h.holdLatency = notHeld("permission denied")
		}, Warn, "not held: permission denied"},
		{"governor", func(h *host) { h.put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave") }, Warn, "performance, powersave"},
		{"governor", func(h *host) {
			h.drop("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
			h.drop("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor")
		}, OK, "not set here"},
		{"clocksource", func(h *host) { h.put("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet") }, Bad, "hpet"},
		{"clocksource", func(h *host) { h.drop("sys/devices/system/clocksource/clocksource0/current_clocksource") }, Warn, "not known"},
		{"wake-up", func(h *host) { h.late(150*time.Microsecond, 200*time.Microsecond) }, Warn, "median 150µs, p99 200µs"},
		{"wake-up", func(h *host) { h.late(10*time.Microsecond, 2*time.Millisecond) }, Warn, "2ms"},
		{"wake-up", func(h *host) { h.late(10*time.Microsecond, 20*time.Millisecond) }, Bad, "20ms"},
		{"wake-up", func(h *host) {
			h.wakeups = func(context.Context) (wakeup, error) { return wakeup{}, errors.New("Linux only") }
		}, Warn, "Linux only"},
		{"timer-slack", func(h *host) { h.put("proc/self/timerslack_ns", "4000000") }, Warn, "4ms"},
		{"timer-slack", func(h *host) { h.drop("proc/self/timerslack_ns") }, Warn, "not known"},
		{"real-time", func(h *host) { h.realtime = func() error { return errors.New("operation not permitted") } }, Warn, "operation not permitted"},
		{"autogroup", func(h *host) { h.put("proc/sys/kernel/sched_autogroup_enabled", "1") }, Warn, "on"},
		{"autogroup", func(h *host) { h.drop("proc/sys/kernel/sched_autogroup_enabled") }, OK, "not in this kernel"},
		{"numa-balancing", func(h *host) {
			h.put("sys/devices/system/node/online", "0-1")
			h.put("proc/sys/kernel/numa_balancing", "1")
		}, Warn, "on, nodes 0-1"},
		{"numa-balancing", func(h *host) {
			h.put("sys/devices/system/node/online", "0-1")
			h.put("proc/sys/kernel/numa_balancing", "0")
		}, OK, "off, nodes 0-1"},
		{"numa-balancing", func(h *host) { h.drop("sys/devices/system/node/online") }, OK, "not in this kernel"},
		{"thp", func(h *host) { h.put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never") }, Warn, "always"},
		{"thp", func(h *host) { h.put("sys/kernel/mm/transparent_hugepage/enabled", "yes") }, Warn, "not known"},
		{"swap", func(h *host) {
			h.put("proc/meminfo", "SwapTotal: 2048 kB\nSwapFree: 1024 kB")
			h.put("proc/sys/vm/swappiness", "60")
		}, Warn, "swappiness 60, 1 of 2 MiB"},
		{"swap", func(h *host) {
			h.put("proc/meminfo", "SwapTotal: 2048 kB\nSwapFree: 2048 kB")
			h.put("proc/sys/vm/swappiness", "1")
		}, OK, "swappiness 1"},
		{"swap", func(h *host) { h.put("proc/meminfo", "") }, Warn, "no SwapTotal"},
		{"somaxconn", func(h *host) { h.put("proc/sys/net/core/somaxconn", "128") }, Warn, "128"},
		{"ephemeral-ports", func(h *host) { h.put("proc/sys/net/ipv4/ip_local_port_range", "50000 59999") }, Warn, "10000"},
		{"ephemeral-ports", func(h *host) { h.put("proc/sys/net/ipv4/ip_local_port_range", "x") }, Warn, "not known"},
		{"time-wait", func(h *host) { h.put("proc/net/sockstat", "TCP: inuse 1 tw 5000") }, Warn, "5000 of 28232"},
		{"time-wait", func(h *host) { h.put("proc/net/sockstat", "TCP: inuse 1 tw 20000") }, Bad, "20000 of 28232"},
		{"open-files", func(h *host) { h.openFiles = func() (uint64, error) { return 256, nil } }, Bad, "256"},
		{"open-files", func(h *host) { h.openFiles = func() (uint64, error) { return 4096, nil } }, Warn, "4096"},
		{"open-files", func(h *host) { h.openFiles = func() (uint64, error) { return 0, errors.New("odd") } }, Warn, "odd"},
		{"io_uring", func(h *host) { h.uring = func() error { return errors.New("a policy forbids it") } }, OK, "a policy forbids it"},
		{"perf-events", func(h *host) { h.put("proc/sys/kernel/perf_event_paranoid", "4") }, Warn, "4"},
		{"perf-events", func(h *host) { h.root = true; h.put("proc/sys/kernel/perf_event_paranoid", "4") }, OK, "4"},
		{"perf-events", func(h *host) { h.drop("proc/sys/kernel/perf_event_paranoid") }, Warn, "not known"},
	}
	for _, tt := range tests {
		h := healthy()
		tt.change(h)
		c := find(t, examine(t.Context(), h), tt.check)
		if c.Status != tt.status || !strings.Contains(c.Value, tt.value) || c.Means == "" {
			t.Errorf("%s: %+v, want %s with %q", tt.check, c, tt.status, tt.value)
		}
		if c.Status != OK && !strings.HasPrefix(c.Value, "not known") && c.Fix == "" {
			t.Errorf("%s is not well, but nothing fixes it: %+v", tt.check, c)
		}
	}
}

func (h *host) late(median, p99 time.Duration) {
	h.wakeups = func(context.Context) (wakeup, error) { return wakeup{median, p99}, nil }
}

// On a machine without any of the files, every check returns a result.
func TestBlindMachine(t *testing.T) {
	h := healthy()
	h.files = fstest.MapFS{}
	for _, c := range examine(t.Context(), h) {
		if c.Value == "" || c.Means == "" || c.Status == Bad {
			t.Errorf("%+v", c)
		}
	}
}

func TestForbiddenFiles(t *testing.T) {
	h := healthy()
	h.files = forbidden{}
	if c := find(t, examine(t.Context(), h), "somaxconn"); c.Status != Warn || c.Value != "not known: no permission to read it" {
		t.Errorf("%+v", c)
	}
}

type forbidden struct{}

func (forbidden) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func TestSettings(t *testing.T) {
	h := healthy()
	h.waitSecond = func(context.Context) error { t.Error("settings take a second"); return nil }
	got := settings(h)
	if got["somaxconn"] != "4096" || got["thp"] != "madvise" || got["autogroup"] != "off" {
		t.Errorf("%v", got)
	}
	for _, measured := range []string{"neighbours", "steal", "wake-up", "time-wait"} {
		if _, ok := got[measured]; ok {
			t.Errorf("%s is no setting", measured)
		}
	}
}

func TestCheckAsJSON(t *testing.T) {
	b, err := json.Marshal(Check{Name: "smt", Status: OK, Value: "off", Means: "fine"})
	if want := `{"name":"smt","status":"ok","value":"off","means":"fine"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

// Examining the real machine gives a valid result for every check, even after ctx has ended.
func TestThisMachine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range examine(ctx, thisHost()) {
		if c.Name == "" || c.Value == "" || c.Means == "" || !slices.Contains([]Status{OK, Warn, Bad}, c.Status) {
			t.Errorf("%+v", c)
		}
	}
}

// The summary begins with whether the machine is fit to measure on, and names the reason if not.
func TestSummary(t *testing.T) {
	well, known := Check{Name: "cores", Status: OK, Value: "4"}, Check{Name: "smt", Status: Warn, Value: "on"}
	for want, checks := range map[string][]Check{
		"Fit to measure.":                      {well},
		"Fit to measure, with 1 warning: smt.": {well, known},
		"Not fit to measure now: neighbours: 97% of the machine (1 bad, 1 warning).": {known, {Name: "neighbours", Status: Bad, Value: "97% of the machine"}},
	} {
		if got := Summary(checks); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
