package host

import (
	"testing"
	"testing/fstest"
)

func TestQuota(t *testing.T) {
	const v2, v1 = "26 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	const contained = "26 22 0:23 /docker/lab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for name, tt := range map[string]struct {
		ours, its, mounts string
		limits            map[string]string // by path below sys/fs/cgroup
		cores             float64
		shared            bool
	}{
		"no limit": {"0::/a", "0::/b", v2, map[string]string{"a/cpu.max": "100000 100000", "b/cpu.max": "max 100000"}, 0, false},
		"its own":  {"0::/a", "0::/b", v2, map[string]string{"b/cpu.max": "150000 100000"}, 1.5, false},
		"one above both": {"0::/pod/a", "0::/pod/b", v2, map[string]string{
			"pod/cpu.max": "200000 100000", "pod/b/cpu.max": "max 100000"}, 2, true},
		"the lower is its own": {"0::/pod/a", "0::/pod/b", v2, map[string]string{
			"pod/cpu.max": "200000 100000", "pod/b/cpu.max": "50000 100000"}, 0.5, false},
		"equal ones":     {"0::/pod/a", "0::/pod/b", v2, map[string]string{"pod/cpu.max": "200000 100000", "pod/b/cpu.max": "200000 100000"}, 2, true},
		"the same group": {"0::/a", "0::/a", v2, map[string]string{"a/cpu.max": "200000 100000"}, 2, true},
		"version 1": {"1:cpu:/a", "1:cpu:/b", v1, map[string]string{
			"cpu/b/cpu.cfs_quota_us": "50000", "cpu/b/cpu.cfs_period_us": "100000"}, 0.5, false},
		"in our container, by the host's path": {"0::/docker/lab", "0::/docker/lab", contained, map[string]string{"cpu.max": "100000 100000"}, 1, true},
		"in another container":                 {"0::/docker/lab", "0::/docker/other", contained, map[string]string{"cpu.max": "100000 100000"}, 0, false},
		"in another namespace":                 {"0::/", "0::/../other", v2, map[string]string{"cpu.max": "100000 100000"}, 0, false},
		"in the namespace above":               {"0::/", "0::/..", v2, map[string]string{"cpu.max": "100000 100000"}, 0, false},
		"not to be read":                       {"0::/a", "0::/b", v2, map[string]string{"b/cpu.max": "?"}, 0, false},
	} {
		files := fstest.MapFS{
			"proc/self/cgroup":    {Data: []byte(tt.ours + "\n")},
			"proc/10/cgroup":      {Data: []byte(tt.its + "\n")},
			"proc/self/mountinfo": {Data: []byte(tt.mounts)},
		}
		for path, text := range tt.limits {
			files["sys/fs/cgroup/"+path] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		if cores, shared := quota(files, 10); cores != tt.cores || shared != tt.shared {
			t.Errorf("%s: %v cores, shared %v; want %v, %v", name, cores, shared, tt.cores, tt.shared)
		}
		if cores, shared := quota(files, 11); cores != 0 || shared {
			t.Errorf("%s, no such process: %v cores, shared %v", name, cores, shared)
		}
	}
}
