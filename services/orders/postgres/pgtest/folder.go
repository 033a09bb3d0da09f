package pgtest

import (
	"os"
	"syscall"
	"testing"
)

// memory is where Linux keeps files in memory. A cluster is some thousand small files, which come and go with the
// tests' databases: on a disk a third of a test's CPU time was spent on making them (ext4 without a journal).
const memory = "/dev/shm"

// room is how many bytes have to be free there. Servers side by side have some 200 MiB each: careless bounds the log.
const room = 4 << 30

// Folder returns an empty folder for a PostgreSQL, which is removed after the test. Unlike t.TempDir's it can be
// entered by the user as whom PostgreSQL runs when root runs the test.
func Folder(t testing.TB) string {
	t.Helper()
	folder, err := makeFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

func makeFolder() (string, error) {
	folder, err := os.MkdirTemp(parent(), "pgtest-")
	if err != nil {
		return "", err
	}
	return folder, os.Chmod(folder, 0o711)
}

// parent is the folder for folders: in memory if there is room, else ("") where the system has temporary files.
func parent() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < room {
		return ""
	}
	return memory
}
