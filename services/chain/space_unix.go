//go:build linux || darwin

package chain

import "syscall"

// space returns the function that measures the disk of a folder: its free bytes, and all.
func space(dir string) func() (free, size int64, err error) {
	return func() (free, size int64, err error) {
		var disk syscall.Statfs_t
		if err = syscall.Statfs(dir, &disk); err != nil {
			return 0, 0, err
		}
		block := int64(disk.Bsize)
		return int64(disk.Bavail) * block, int64(disk.Blocks) * block, nil
	}
}
