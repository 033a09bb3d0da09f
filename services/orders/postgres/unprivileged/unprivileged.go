// Package unprivileged chooses the user as which PostgreSQL runs when root starts it, as it refuses
// to run as root, and says which folders that user may enter.
//
// It starts no process and no goroutine. On Linux it can have a process enter folders that are
// closed to its user.
package unprivileged

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ID is the uid and gid of the unprivileged user. It needs no entry in /etc/passwd.
const ID = 65534

// User returns the unprivileged user when this process is root's, and otherwise nil, which stands
// for this process's own.
func User() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: ID, Gid: ID}
}

// Owner returns the user for a data folder: when this process is root's, the owner of existing data
// unless that is root.
func Owner(data string) (*syscall.Credential, error) {
	user := User()
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

// Reachable returns an error that names the first folder on the way to path, path included, that
// the user may not enter. It goes by mode bits; an access-control list is not looked at. A nil user
// may enter every folder.
func Reachable(path string, user *syscall.Credential) error {
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
