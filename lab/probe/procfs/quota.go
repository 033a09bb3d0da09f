package procfs

import (
	"errors"
	"io/fs"
	"path"
)

// Cgroups returns the result of CgroupDirs for a process ("self", or its ID), with the paths that
// this process sees. files is the root of the file system.
func Cgroups(files fs.FS, process, controller string) (dirs []string, v2 bool, err error) {
	cgroup, err := fs.ReadFile(files, path.Join("proc", process, "cgroup"))
	if err != nil {
		return nil, false, err
	}
	// These are this process's mounts, even for another process: the mount points of a process in a
	// container do not exist here.
	mounts, err := fs.ReadFile(files, "proc/self/mountinfo")
	if err != nil {
		return nil, false, err
	}
	dirs, v2 = CgroupDirs(cgroup, mounts, controller)
	return dirs, v2, nil
}

// LowestQuota returns the lowest CPU quota of the groups that Cgroups found for "cpu", and the
// outermost of the groups with that quota; NoQuota: none of them has a quota.
func LowestQuota(files fs.FS, dirs []string, v2 bool) (cores float64, group string, err error) {
	for _, dir := range dirs {
		q, err := groupQuota(files, dir, v2)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the root group has no such file; a path on the host does not exist in a container
		}
		if err != nil {
			return NoQuota, "", err
		}
		if q != NoQuota && (cores == NoQuota || q <= cores) {
			cores, group = q, dir
		}
	}
	return cores, group, nil
}

func groupQuota(files fs.FS, dir string, v2 bool) (float64, error) {
	if v2 {
		b, err := fs.ReadFile(files, path.Join(dir, "cpu.max"))
		if err != nil {
			return 0, err
		}
		return CPUQuota(b)
	}
	quota, err := fs.ReadFile(files, path.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return 0, err
	}
	period, err := fs.ReadFile(files, path.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return 0, err
	}
	return CPUQuotaV1(quota, period)
}
