package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Values for a control group without a limit.
const (
	NoQuota  = 0.0
	NoMemory = int64(0)
)

// CgroupDirs returns the folders with the limits of a controller ("cpu", "memory") that apply to a
// process: the process's own group first, the outermost last. They are paths from the root of the
// file system, without the first slash; v2 is their format. cgroup is /proc/PID/cgroup and
// mountinfo is /proc/PID/mountinfo. Without folders, the process is in no mounted group with that
// controller.
//
// In a container, cgroup may have the path on the host while the mount's root is the container's
// own group. Then the folders may not exist, except the outermost, which is the mount itself.
func CgroupDirs(cgroup, mountinfo []byte, controller string) (dirs []string, v2 bool) {
	type group struct {
		path string
		v2   bool
	}
	var found []group
	for line := range bytes.Lines(cgroup) { // hierarchy-ID:controllers:path
		parts := strings.SplitN(strings.TrimRight(string(line), "\n"), ":", 3)
		switch {
		case len(parts) < 3 || !strings.HasPrefix(parts[2], "/"):
		case strings.HasPrefix(parts[2]+"/", "/../"): // outside the reader's cgroup namespace, so not visible
		case slices.Contains(strings.Split(parts[1], ","), controller):
			found = append([]group{{parts[2], false}}, found...) // a controller is in one hierarchy only: in v1, so not in v2
		case parts[0] == "0" && parts[1] == "":
			found = append(found, group{parts[2], true})
		}
	}
	if len(found) == 0 {
		return nil, false
	}
	g := found[0]
	mount, root, ok := cgroupMount(mountinfo, controller, g.v2)
	if !ok {
		return nil, false
	}
	within := path.Clean(g.path)
	if below, ok := strings.CutPrefix(within+"/", strings.TrimSuffix(root, "/")+"/"); ok {
		within = below
	}
	for at := path.Join("/", within); ; at = path.Dir(at) {
		dirs = append(dirs, strings.TrimPrefix(path.Join(mount, at), "/"))
		if at == "/" {
			return dirs, g.v2
		}
	}
}

// cgroupMount returns the mount point of a hierarchy, and the group that is the root of the mount.
// A line reads: ID parent major:minor root mount-point options [tags] - type source super-options.
func cgroupMount(mountinfo []byte, controller string, v2 bool) (mount, root string, ok bool) {
	for line := range bytes.Lines(mountinfo) {
		before, after, cut := strings.Cut(string(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !cut || len(left) < 5 || len(right) < 3 || !strings.HasPrefix(left[4], "/") {
			continue
		}
		if v2 && right[0] == "cgroup2" || !v2 && right[0] == "cgroup" && slices.Contains(strings.Split(right[2], ","), controller) {
			return left[4], left[3], true
		}
	}
	return "", "", false
}

// CPUQuota reads cpu.max of a v2 group: the number of CPUs that the group may use, or NoQuota.
func CPUQuota(cpuMax []byte) (float64, error) {
	fields := strings.Fields(string(cpuMax))
	if len(fields) == 2 && fields[0] == "max" {
		return NoQuota, nil
	}
	if len(fields) != 2 {
		return 0, errors.New("cpu.max is not a quota and a period")
	}
	return quota(fields[0], fields[1])
}

// CPUQuotaV1 reads cpu.cfs_quota_us and cpu.cfs_period_us of a v1 group: the number of CPUs that
// the group may use, or NoQuota.
func CPUQuotaV1(quotaUs, periodUs []byte) (float64, error) {
	q := strings.TrimSpace(string(quotaUs))
	if strings.HasPrefix(q, "-") {
		return NoQuota, nil
	}
	return quota(q, strings.TrimSpace(string(periodUs)))
}

func quota(used, period string) (float64, error) {
	u, err1 := strconv.ParseUint(used, 10, 62)
	p, err2 := strconv.ParseUint(period, 10, 62)
	if err1 != nil || err2 != nil || u == 0 || p == 0 {
		return 0, fmt.Errorf("%q in %q us is no CPU quota", used, period)
	}
	return float64(u) / float64(p), nil
}

// unlimitedV1 is the smallest v1 memory limit, in bytes, that means no limit: the kernel writes the
// largest number of pages, in bytes.
const unlimitedV1 = int64(1) << 60

// MemoryLimit reads memory.max (v2) or memory.limit_in_bytes (v1): the limit in bytes, or NoMemory.
func MemoryLimit(b []byte) (int64, error) {
	s := strings.TrimSpace(string(b))
	if s == "max" {
		return NoMemory, nil
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is no memory limit", s)
	}
	if int64(n) >= unlimitedV1 {
		return NoMemory, nil
	}
	return int64(n), nil
}

// Figure returns the value of a name in a file with lines "name value", such as cpu.stat, or "name:
// value", such as meminfo.
func Figure(b []byte, name string) (int64, bool) {
	for line := range bytes.Lines(b) {
		value, ok := bytes.CutPrefix(line, []byte(name))
		if value = bytes.TrimPrefix(value, []byte(":")); !ok || len(value) == 0 || value[0] != ' ' && value[0] != '\t' {
			continue
		}
		if fields := strings.Fields(string(value)); len(fields) > 0 {
			n, err := strconv.ParseInt(fields[0], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// TimeWait reads the number of TCP sockets in TIME_WAIT from /proc/net/sockstat.
func TimeWait(sockstat []byte) (int64, error) {
	for line := range bytes.Lines(sockstat) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || fields[0] != "TCP:" {
			continue
		}
		for i := 1; i+1 < len(fields); i += 2 {
			if fields[i] == "tw" {
				n, err := strconv.ParseUint(fields[i+1], 10, 31)
				return int64(n), err
			}
		}
	}
	return 0, errors.New("sockstat has no number of sockets in TIME_WAIT")
}

// Chosen reads a file that lists choices and has the current one in brackets: always [madvise]
// never.
func Chosen(b []byte) (string, error) {
	_, rest, ok := strings.Cut(string(b), "[")
	choice, _, ended := strings.Cut(rest, "]")
	if !ok || !ended || choice == "" {
		return "", fmt.Errorf("%.40q marks no choice", b)
	}
	return choice, nil
}

// Range reads two numbers, the second not below the first.
func Range(b []byte) (low, high int64, err error) {
	fields := strings.Fields(string(b))
	if len(fields) != 2 {
		return 0, 0, fmt.Errorf("%.40q is no range", b)
	}
	l, err1 := strconv.ParseUint(fields[0], 10, 31)
	h, err2 := strconv.ParseUint(fields[1], 10, 31)
	if err1 != nil || err2 != nil || l > h {
		return 0, 0, fmt.Errorf("%.40q is no range", b)
	}
	return int64(l), int64(h), nil
}
