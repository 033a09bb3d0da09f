package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// memory is where Linux keeps files in memory. A cluster is some thousand small files, which come
// and go with the tests' databases: on a disk a third of a test's CPU time was spent on making them
// (ext4 without a journal).
const memory = "/dev/shm"

// room is how many bytes have to be free there. Servers side by side have some 200 MiB each:
// careless bounds the log.
const room = 4 << 30

// Folder returns an empty folder for a PostgreSQL, which is removed after the test. Unlike
// t.TempDir's it can be entered by the user of PostgreSQL when root runs the test.
func Folder(t testing.TB) string {
	t.Helper()
	folder, err := makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// makeFolder makes a folder that names its process, so that other processes can detect a leftover.
func makeFolder() (string, error) {
	folder, err := os.MkdirTemp(parent(), fmt.Sprintf("pgtest-%d-", os.Getpid()))
	if err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, 0o711)
}

// parent is the folder for folders: in memory if there is room, else where the system has temporary
// files. What tests that were interrupted have left there is removed.
var parent = sync.OnceValue(func() string {
	where := os.TempDir()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err == nil && uint64(fs.Bavail)*uint64(fs.Bsize) >= room {
		where = memory
	}
	sweep(where)
	return where
})

// sweep removes the folders of processes that are no more. Their servers end with them (package
// postgres).
func sweep(where string) {
	folders, _ := filepath.Glob(filepath.Join(where, "pgtest-*-*")) // the pattern is good
	for _, folder := range folders {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(folder), "pgtest-%d-", &pid); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			os.RemoveAll(folder)
		}
	}
}
