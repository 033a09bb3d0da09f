// Package flock locks files between processes, by flock(2), and leaves in them which process has
// the lock.
//
// A lock belongs to the open file: it ends when the last process that has the file open, by
// inheritance too, closes it or ends. It is not for goroutines of one process, and it starts none.
package flock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ErrLocked is what Lock returns when another process has the lock.
var ErrLocked = errors.New("locked by another process")

// Open opens the file at path, which it makes if missing, and takes its lock; ErrLocked when
// another process has it. To close the file, or to end, gives this process's hold on the lock up.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Sign writes this process's pid into the file, for Holder.
func Sign(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// Holder names the process that signed the file last.
func Holder(f *os.File) string {
	buf := make([]byte, 20)
	n, _ := f.ReadAt(buf, 0)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n]))); err == nil && pid > 0 {
		return fmt.Sprintf("process %d", pid)
	}
	return "another process"
}
