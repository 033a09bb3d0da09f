package postgres

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// reachable returns an error that names the first folder on the way to path, path included, that
// the user may not enter. It goes by mode bits; an access-control list is not looked at.
func reachable(path string, user *syscall.Credential) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	var barred error
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !mayEnter(info, user) {
			barred = fmt.Errorf("PostgreSQL does not run as root, and user %d, which it would run as, may not enter %s (%v); choose another --data, "+
				"or allow it with: chmod o+x %s, or give the URL of a PostgreSQL with --dsn", user.Uid, dir, info.Mode().Perm(), dir)
		}
		if dir == filepath.Dir(dir) {
			return barred
		}
	}
}

func mayEnter(info fs.FileInfo, user *syscall.Credential) bool {
	stat := info.Sys().(*syscall.Stat_t)
	switch {
	case stat.Uid == user.Uid:
		return info.Mode()&0o100 != 0
	case stat.Gid == user.Gid:
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}
