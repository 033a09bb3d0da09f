package procfs

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestCPUTimes(t *testing.T) {
	stat := fixture(t, "stat")
	tests := []struct {
		cpus        []int
		busy, steal float64
	}{
		{nil, 124.58 + 0.10 + 27.60 + 0.05 + 1.22, 0.58},
		{[]int{1}, 60.68 + 0.06 + 14.66 + 0.03 + 0.74, 0.30},
		{[]int{0, 1}, 124.58 + 0.10 + 27.60 + 0.05 + 1.22, 0.58},
		{[]int{0, 7}, 63.90 + 0.04 + 12.94 + 0.02 + 0.48, 0.28},
	}
	for _, tt := range tests {
		busy, steal, err := CPUTimes(stat, tt.cpus)
		if err != nil || !near(busy, tt.busy) || !near(steal, tt.steal) {
			t.Errorf("CPUs %v: %v s busy, %v s stolen, %v; want %v and %v", tt.cpus, busy, steal, err, tt.busy, tt.steal)
		}
	}
	for _, bad := range []string{"", "intr 5\n", "cpu  1 2 3\n", "cpu  1 2 x 4\n", "cpu  1 2 -3 4\n"} {
		if _, _, err := CPUTimes([]byte(bad), nil); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if _, _, err := CPUTimes(stat, []int{7}); err == nil {
		t.Error("a CPU that is not there was read")
	}
	if busy, steal, err := CPUTimes([]byte("cpu 100 0 100 5\n"), nil); busy != 2 || steal != 0 || err != nil {
		t.Errorf("an old kernel's four figures gave %v, %v, %v", busy, steal, err)
	}
}

func TestProcess(t *testing.T) {
	if s, system, err := ProcessCPU(fixture(t, "pid_stat")); !near(s, 3) || !near(system, 0.49) || err != nil {
		t.Errorf("ProcessCPU = %v, %v, %v, want 2.51+0.49 s", s, system, err)
	}
	if p, err := Resident([]byte("765 412 388 5 0 90 0\n")); p != 412 || err != nil {
		t.Errorf("Resident = %v, %v", p, err)
	}
	if ran, d, err := Scheduled([]byte("1500000000 2500000000 17\n")); !near(ran, 1.5) || !near(d, 2.5) || err != nil {
		t.Errorf("Scheduled = %v, %v, %v", ran, d, err)
	}
	if c, err := AllowedCPUs(fixture(t, "pid_status")); !slices.Equal(c, []int{0, 1, 3, 4, 5, 8}) || err != nil {
		t.Errorf("AllowedCPUs = %v, %v", c, err)
	}
	if ids := IDs([]byte("12 34 x -5 0 56 78"), 3); !slices.Equal(ids, []int{12, 34, 56}) {
		t.Errorf("IDs = %v", ids)
	}
	for _, bad := range []string{"", "1", "1 (x) R 1", "1 x"} {
		if _, _, err := ProcessCPU([]byte(bad)); err == nil {
			t.Errorf("ProcessCPU read %q", bad)
		}
		if _, err := Resident([]byte(bad)); err == nil {
			t.Errorf("Resident read %q", bad)
		}
		if _, _, err := Scheduled([]byte(bad)); err == nil {
			t.Errorf("Scheduled read %q", bad)
		}
		if _, err := AllowedCPUs([]byte(bad)); err == nil {
			t.Errorf("AllowedCPUs read %q", bad)
		}
	}
}

func TestCPUList(t *testing.T) {
	for _, bad := range []string{"", "a", "3-1", "1-", "-1", "1,,2", "0-9000", "0-99999"} {
		if c, err := CPUList(bad); err == nil {
			t.Errorf("CPUList(%q) = %v", bad, c)
		}
	}
}

func TestMachine(t *testing.T) {
	if s, err := Pressure(fixture(t, "pressure_cpu")); !near(s, 20.893725) || err != nil {
		t.Errorf("Pressure = %v, %v", s, err)
	}
	if _, err := Pressure([]byte("full avg10=0 total=5\n")); err == nil {
		t.Error("a file without some was read")
	}
	if m, err := MemTotal(fixture(t, "meminfo")); m != 24683004<<10 || err != nil {
		t.Errorf("MemTotal = %v, %v", m, err)
	}
	if n, ok := Figure(fixture(t, "meminfo"), "SwapFree"); n != 1048576 || !ok {
		t.Errorf("SwapFree = %v, %v", n, ok)
	}
	if n, ok := Figure([]byte("nr_periods 7\nnr_throttled 3\n"), "nr_throttled"); n != 3 || !ok {
		t.Errorf("nr_throttled = %v, %v", n, ok)
	}
	if m := CPUModel(fixture(t, "cpuinfo")); m != "Intel(R) Xeon(R) Processor" {
		t.Errorf("CPUModel = %q", m)
	}
	if m := CPUModel([]byte("processor : 0\nCPU part : 0xd0c\n")); m != "" {
		t.Errorf("CPUModel of a nameless processor = %q", m)
	}
	if !Virtual([]byte("processor : 0\nflags\t: fpu hypervisor sse2\n")) || Virtual([]byte("flags : fpu sse2\n")) || Virtual([]byte("flags")) {
		t.Error("a virtual machine's processor has the flag hypervisor, no other")
	}
	if n, err := TimeWait(fixture(t, "sockstat")); n != 2154 || err != nil {
		t.Errorf("TimeWait = %v, %v", n, err)
	}
	if c, err := Chosen([]byte("always [madvise] never\n")); c != "madvise" || err != nil {
		t.Errorf("Chosen = %q, %v", c, err)
	}
	if _, err := Chosen([]byte("always never")); err == nil {
		t.Error("a file that marks no choice was read")
	}
	if l, h, err := Range([]byte("32768\t60999\n")); l != 32768 || h != 60999 || err != nil {
		t.Errorf("Range = %v, %v, %v", l, h, err)
	}
	if _, _, err := Range([]byte("5 4")); err == nil {
		t.Error("a range that goes backwards was read")
	}
}

func TestCgroupDirs(t *testing.T) {
	v1, mounts1 := fixture(t, "cgroup_v1"), fixture(t, "mountinfo_v1")
	v2, mounts2 := fixture(t, "cgroup_v2"), fixture(t, "mountinfo_v2")
	tests := []struct {
		name           string
		cgroup, mounts []byte
		controller     string
		want           []string
		v2             bool
	}{
		{"v1", v1, mounts1, "cpu", []string{"sys/fs/cgroup/cpu,cpuacct/pods/a/b", "sys/fs/cgroup/cpu,cpuacct/pods/a", "sys/fs/cgroup/cpu,cpuacct/pods", "sys/fs/cgroup/cpu,cpuacct"}, false},
		{"v1, the controller on v2", v1, mounts1, "io", []string{"sys/fs/cgroup/unified/unified", "sys/fs/cgroup/unified"}, true},
		{"v2", v2, mounts2, "memory", []string{"sys/fs/cgroup/user.slice/session-2.scope", "sys/fs/cgroup/user.slice", "sys/fs/cgroup"}, true},
		{"v2 at the root", []byte("0::/\n"), mounts2, "cpu", []string{"sys/fs/cgroup"}, true},
		{"a container that sees its own group as the root", []byte("0::/docker/abc\n"), []byte("26 22 0:23 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n"), "cpu", []string{"sys/fs/cgroup"}, true},
		{"a group whose name begins like the mount's", []byte("0::/docker/abcd\n"), []byte("26 22 0:23 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n"), "cpu",
			[]string{"sys/fs/cgroup/docker/abcd", "sys/fs/cgroup/docker", "sys/fs/cgroup"}, true},
		{"no mount", v2, nil, "cpu", nil, false},
		{"no groups", nil, mounts2, "cpu", nil, false},
	}
	for _, tt := range tests {
		dirs, isV2 := CgroupDirs(tt.cgroup, tt.mounts, tt.controller)
		if !slices.Equal(dirs, tt.want) || isV2 != tt.v2 {
			t.Errorf("%s: %v (v2 %v), want %v (v2 %v)", tt.name, dirs, isV2, tt.want, tt.v2)
		}
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]float64{"max 100000\n": NoQuota, "150000 100000": 1.5} {
		if got, err := CPUQuota([]byte(text)); got != want || err != nil {
			t.Errorf("CPUQuota(%q) = %v, %v", text, got, err)
		}
	}
	for quota, want := range map[string]float64{"-1\n": NoQuota, "50000\n": 0.5} {
		if got, err := CPUQuotaV1([]byte(quota), []byte("100000\n")); got != want || err != nil {
			t.Errorf("CPUQuotaV1(%q) = %v, %v", quota, got, err)
		}
	}
	for _, bad := range []string{"", "5", "0 100", "5 0", "x y", "1 2 3"} {
		if got, err := CPUQuota([]byte(bad)); err == nil {
			t.Errorf("CPUQuota(%q) = %v", bad, got)
		}
	}
	for text, want := range map[string]int64{"max\n": NoMemory, "9223372036854771712\n": NoMemory, "1073741824\n": 1 << 30} {
		if got, err := MemoryLimit([]byte(text)); got != want || err != nil {
			t.Errorf("MemoryLimit(%q) = %v, %v", text, got, err)
		}
	}
	if _, err := MemoryLimit([]byte("much")); err == nil {
		t.Error("a limit that is no number was read")
	}
}

// Whatever a file contains, a figure read from it is finite and not negative.
func FuzzFigures(f *testing.F) {
	for _, name := range []string{"stat", "pid_stat", "pressure_cpu", "pid_status", "meminfo", "cpuinfo", "sockstat", "netstat", "task_stat", "task_status"} {
		f.Add(fixture(f, name))
	}
	f.Add([]byte("765 412 388"))
	f.Add([]byte("max 100000"))
	f.Add([]byte("cpu 18446744073709551615 9223372036854775807 9223372036854775807 1 1 1 1 1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(what string, v float64, err error) {
			if err == nil && !(v >= 0 && v < math.MaxFloat64) {
				t.Errorf("%s = %v", what, v)
			}
		}
		busy, steal, err := CPUTimes(b, nil)
		check("busy", busy, err)
		check("steal", steal, err)
		_, steal, err = CPUTimes(b, []int{0, 1})
		check("steal of two", steal, err)
		v, system, err := ProcessCPU(b)
		check("ProcessCPU", v-system, err)
		check("ProcessCPU, system", system, err)
		v, err = BlockedIO(b)
		check("BlockedIO", v, err)
		waits, preemptions, err := Switches(b)
		check("Switches", float64(min(waits, preemptions)), err)
		overflows, err := ListenOverflows(b)
		check("ListenOverflows", float64(overflows), err)
		n, err := Resident(b)
		check("Resident", float64(n), err)
		_, v, err = Scheduled(b)
		check("Delay", v, err)
		v, err = Pressure(b)
		check("Pressure", v, err)
		n, err = MemTotal(b)
		check("MemTotal", float64(n), err)
		n, err = TimeWait(b)
		check("TimeWait", float64(n), err)
		v, err = CPUQuota(b)
		check("CPUQuota", v, err)
		v, err = CPUQuotaV1(b, b)
		check("CPUQuotaV1", v, err)
		n, err = MemoryLimit(b)
		check("MemoryLimit", float64(n), err)
		if low, high, err := Range(b); err == nil && (low < 0 || high < low) {
			t.Errorf("Range = %v, %v", low, high)
		}
		if cpus, err := AllowedCPUs(b); err == nil && (len(cpus) == 0 || len(cpus) > maxCPUs) {
			t.Errorf("%d CPUs", len(cpus))
		}
		for _, id := range IDs(b, 5) {
			if id <= 0 {
				t.Errorf("ID %d", id)
			}
		}
		CPUModel(b)
		Virtual(b)
		Chosen(b)
		Figure(b, "SwapTotal")
	})
}

// Each folder is above the previous one, and none is outside the root.
func FuzzCgroupDirs(f *testing.F) {
	f.Add(fixture(f, "cgroup_v1"), fixture(f, "mountinfo_v1"))
	f.Add(fixture(f, "cgroup_v2"), fixture(f, "mountinfo_v2"))
	f.Add([]byte("0::/../../x\n"), []byte("26 22 0:23 /.. /sys rw - cgroup2 c rw\n"))
	f.Fuzz(func(t *testing.T, cgroup, mounts []byte) {
		dirs, _ := CgroupDirs(cgroup, mounts, "cpu")
		for i, d := range dirs {
			if filepath.IsAbs(d) || d == ".." || len(d) > 2 && d[:3] == "../" {
				t.Errorf("folder %q", d)
			}
			if i > 0 && len(d) >= len(dirs[i-1]) {
				t.Errorf("%q does not lie above %q", d, dirs[i-1])
			}
		}
	})
}
