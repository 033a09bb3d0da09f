package host

import (
	"io/fs"
	"os"
	"slices"
	"strconv"

	"dyno/lab/probe/procfs"
)

// Quota returns the number of cores that the control groups of a process grant it, as CPU time per
// time; 0: there is no limit, or none that this process can see. sharedWithUs reports whether the
// quota also limits this process.
func Quota(pid int) (cores float64, sharedWithUs bool) { return quota(os.DirFS("/"), pid) }

func quota(files fs.FS, pid int) (cores float64, shared bool) {
	dirs, v2, err := procfs.Cgroups(files, strconv.Itoa(pid), "cpu")
	if err != nil || len(dirs) == 0 {
		return 0, false
	}
	ours, _, err := procfs.Cgroups(files, "self", "cpu")
	if err != nil || len(ours) == 0 {
		return 0, false
	}
	if dirs[0] != ours[0] {
		// This process does not see the group of another container: the outermost group that it
		// sees is that of its own container.
		if _, err := fs.Stat(files, dirs[0]); err != nil {
			return 0, false
		}
	}
	cores, group, err := procfs.LowestQuota(files, dirs, v2)
	if err != nil {
		return 0, false
	}
	return cores, slices.Contains(ours, group)
}
