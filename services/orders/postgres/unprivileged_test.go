package postgres

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReachable(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	me := &syscall.Credential{Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid())}
	stranger := &syscall.Credential{Uid: 54321, Gid: 54321}
	for _, c := range []struct {
		mode     os.FileMode
		user     *syscall.Credential
		mayEnter bool
	}{
		{0o755, stranger, true}, {0o711, stranger, true}, {0o754, stranger, false}, {0o700, stranger, false},
		{0o700, me, true}, {0o677, me, false},
		{0o710, &syscall.Credential{Uid: 54321, Gid: me.Gid}, true}, {0o701, &syscall.Credential{Uid: 54321, Gid: me.Gid}, false},
	} {
		middle := filepath.Dir(dir)
		if err := os.Chmod(middle, c.mode); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(middle)
		if err != nil {
			t.Fatal(err)
		}
		if got := mayEnter(info, c.user); got != c.mayEnter {
			t.Errorf("mode %o, user %d: %v", c.mode, c.user.Uid, got)
		}
		if os.Geteuid() != 0 {
			continue // without rights the way to dir ends here
		}
		for top := base; top != "/"; top = filepath.Dir(top) {
			if info, err := os.Stat(top); err == nil && info.Mode()&0o001 == 0 { // t.TempDir's own
				defer os.Chmod(top, info.Mode().Perm())
				os.Chmod(top, 0o755)
			}
		}
		if err := reachable(dir, c.user); (err == nil) != c.mayEnter {
			t.Errorf("mode %o, user %d: %v", c.mode, c.user.Uid, err)
		}
	}
	os.Chmod(filepath.Dir(dir), 0o755)
}
