package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine returns the root folder of a virtual machine on which the latency may be held, and a
// function that writes a file there.
func machine(t *testing.T) (root string, put func(path, text string)) {
	root = t.TempDir()
	put = func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("proc/cpuinfo", "flags : fpu hypervisor sse2\n")
	put("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n")
	put("sys/class/power_supply/BAT0/status", "Charging\n")
	put("sys/class/power_supply/mouse/status", "Discharging\n")
	put("sys/class/power_supply/mouse/scope", "Device\n")
	put("proc/self/cgroup", "0::/a\n")
	put("proc/self/mountinfo", "26 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	put("sys/fs/cgroup/a/cpu.max", "max 100000\n")
	put("dev/cpu_dma_latency", "")
	return root, put
}

// opened reports whether this process has the file open.
func opened(t *testing.T, path string) bool {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Skip("open files cannot be seen here")
	}
	for _, link := range links {
		if file, _ := os.Readlink(link); file == path {
			return true
		}
	}
	return false
}

func TestHold(t *testing.T) {
	root, _ := machine(t)
	device := filepath.Join(root, "dev/cpu_dma_latency")
	release, held, why := hold(root)
	if !held || why != "" || !opened(t, device) {
		t.Errorf("held %v, why %q, device open %v", held, why, opened(t, device))
	}
	if asked, err := os.ReadFile(device); string(asked) != "\x00\x00\x00\x00" {
		t.Errorf("asked for %q, %v", asked, err)
	}
	if release(); opened(t, device) {
		t.Error("still held after release")
	}
}

func TestNotHeld(t *testing.T) {
	for name, tt := range map[string]struct{ path, text, why string }{
		"hardware":           {"proc/cpuinfo", "flags : fpu sse2\n", "not known to be a virtual machine"},
		"another system":     {"proc/cpuinfo", "", "not known to be a virtual machine"},
		"no idle driver":     {"sys/devices/system/cpu/cpuidle/current_driver", "none\n", "no cpuidle driver"},
		"no idle states":     {"sys/devices/system/cpu/cpuidle/current_driver", "", "no cpuidle driver"},
		"battery":            {"sys/class/power_supply/BAT0/status", "Discharging\n", "on battery"},
		"quota":              {"sys/fs/cgroup/a/cpu.max", "150000 100000\n", "grants 1.5 CPUs"},
		"quota of a parent":  {"sys/fs/cgroup/cpu.max", "200000 100000\n", "grants 2 CPUs"},
		"quota not readable": {"sys/fs/cgroup/a/cpu.max", "?\n", "quota cannot be read"},
	} {
		root, put := machine(t)
		put(tt.path, tt.text)
		release, held, why := hold(root)
		if held || !strings.Contains(why, tt.why) {
			t.Errorf("%s: held %v, why %q; want %q", name, held, why, tt.why)
		}
		release()
	}
}

// The device may be missing.
func TestNoDevice(t *testing.T) {
	root, _ := machine(t)
	if err := os.Remove(filepath.Join(root, "dev/cpu_dma_latency")); err != nil {
		t.Fatal(err)
	}
	release, held, why := hold(root)
	if held || !strings.Contains(why, "cpu_dma_latency: no such file") {
		t.Errorf("held %v, why %q", held, why)
	}
	release()
}

// Without control groups there is no quota.
func TestNoControlGroups(t *testing.T) {
	root, _ := machine(t)
	if err := os.Remove(filepath.Join(root, "proc/self/cgroup")); err != nil {
		t.Fatal(err)
	}
	release, held, why := hold(root)
	if !held {
		t.Errorf("not held: %s", why)
	}
	release()
}
