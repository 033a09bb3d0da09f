// Package output writes a command's large results: to stdout, or to a file that is either complete
// or absent. It is not for the data folder. It starts no goroutines.
package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// To writes to a file, which must not exist yet, or to stdout if the path is "-". A closed pipe at
// stdout is no error.
func To(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path != "-" {
		return toFile(path, write)
	}
	err := buffered(stdout, write)
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// bufferSize is the size of a few ledgers in bytes, so that system calls do not matter.
const bufferSize = 256 << 10

func buffered(to io.Writer, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(to, bufferSize)
	return errors.Join(write(w), w.Flush())
}

func toFile(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already; remove it or choose another name", path)
	}
	dir := filepath.Dir(path)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s cannot be written: there is no folder %s; make it, or choose another", path, dir)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s cannot be written: %s is a file", path, dir)
	}
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, cause(err))
	}
	defer os.Remove(f.Name()) // fails when it was renamed
	const mode = 0o644        // readable for others
	if err := errors.Join(buffered(f, write), f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.Rename(f.Name(), path)
}

func cause(err error) error {
	if about := (*fs.PathError)(nil); errors.As(err, &about) {
		return about.Err
	}
	return err
}
