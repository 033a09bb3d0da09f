package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// UnprivilegedID is the uid and gid of the unprivileged user. It needs no entry in /etc/passwd.
const UnprivilegedID = 65534

// unprivilegedUser returns the unprivileged user when this process is root's, and otherwise nil,
// which stands for this process's own.
func unprivilegedUser() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: UnprivilegedID, Gid: UnprivilegedID}
}

// userFor returns the user for a data folder: when this process is root's, the owner of existing
// data unless that is root.
func userFor(data string) (*syscall.Credential, error) {
	user := unprivilegedUser()
	if user == nil {
		return nil, nil
	}
	info, err := os.Stat(data)
	if errors.Is(err, fs.ErrNotExist) {
		return user, nil
	}
	if err != nil {
		return nil, err
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 0 {
		user.Uid, user.Gid = stat.Uid, stat.Gid
	}
	return user, nil
}

// reachable returns an error that names the first folder on the way to path, path included, that
// the user may not enter. It goes by mode bits; an access-control list is not looked at. A nil user
// may enter every folder.
func reachable(path string, user *syscall.Credential) error {
	if user == nil {
		return nil
	}
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
