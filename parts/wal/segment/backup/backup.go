// Package backup copies logs of segments, and files beside them, while their process goes on
// writing to them, as a tar that a new process can start from.
//
//	s, err := backup.Open(dir, "journal", "notices", "FORMAT") // no file is removed now
//	err = s.WriteTar(w)
//	s.Close()
//
// It is for files that are only appended to, and that bear being cut off anywhere, as segments do.
// It is not for the logs of other engines, which have tools of their own, and it
// does not restore: tar does that. It starts no goroutines.
//
// # Why a copy is consistent
//
// Open notes how far each file was written, in the order of its arguments. A log that refers to
// another, as a journal does to the notices that it says are settled, comes before it: what it
// refers to is older than the reference, and so was stored when the other's turn came. A notice of
// which the journal says nothing yet is as after a crash. Everything that was acknowledged before
// Open is in both.
//
// Once Open has returned, the process may remove files: they are open here, and stay until Close.
package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	segments = "*.seg" // of a log's folder; what else is there is made anew, or is for people

	// Modes as parts/datadir gives them, since there are secrets in the files.
	fileMode   = 0o640
	folderMode = 0o750
)

// Snapshot is a data folder as it was at one moment.
type Snapshot struct {
	folders []string
	files   []file
}

// file is one as far as it had been written.
type file struct {
	*os.File
	name    string // in the data folder, with slashes
	size    int64  // bytes
	written int64  // of these, up to the last that is not zero
	at      time.Time
}

// Open takes a snapshot of some of a folder: of logs by the names of their folders, and of files,
// in that order. While it runs, files may be appended to and new ones come, but none may be
// removed.
//
// Name the file last without which a program does not start: a copy that was cut short does not
// have it.
func Open(dir string, names ...string) (_ *Snapshot, err error) {
	s := &Snapshot{}
	defer func() {
		if err != nil {
			s.Close()
			err = fmt.Errorf("taking a snapshot of %s: %w", dir, err)
		}
	}()
	for _, name := range names {
		if err := s.add(filepath.Join(dir, name), name, segments); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Add adds a file, or all files of a folder, under another name. Its process is done with them, as
// with a checkpoint of a database, and may remove them after Add.
func (s *Snapshot) Add(path, name string) error { return s.add(path, name, "*") }

// add adds a file, or those of a folder whose names match a pattern, oldest first.
func (s *Snapshot) add(path, name, pattern string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return s.open(path, name)
	}
	s.folders = append(s.folders, name)
	found, err := filepath.Glob(filepath.Join(path, pattern))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("there are no %s in %s, which is no log of files", pattern, name)
	}
	slices.Sort(found)
	for _, f := range found {
		err = errors.Join(err, s.open(f, filepath.Join(name, filepath.Base(f))))
	}
	return err
}

func (s *Snapshot) open(path, name string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	one := file{File: f, name: filepath.ToSlash(name)}
	s.files = append(s.files, one)
	info, err := f.Stat()
	if err == nil {
		one.size, one.at = info.Size(), info.ModTime().Truncate(time.Second) // tar would round it into the future
		one.written, err = written(f, one.size)
	}
	s.files[len(s.files)-1] = one
	return err
}

// look is the size of the blocks, in bytes, in which the last byte that is not zero is searched: a
// log allocates megabytes ahead.
const look = 64 << 10

// written finds where a file ends that is allocated ahead, which means zeros. All that lies before
// was written earlier, so that it is there when it is read later; what follows is not read, since
// it may come to be written in the middle of reading, and then a hole would lie before what is
// newer.
func written(f io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, look)
	for end := size; end > 0; {
		from := max(0, end-look)
		n, err := f.ReadAt(buf[:end-from], from)
		if err != nil && !errors.Is(err, io.EOF) { // shorter by now: what was allocated was given back
			return 0, err
		}
		if text := bytes.TrimRight(buf[:n], "\x00"); len(text) > 0 {
			return from + int64(len(text)), nil
		}
		end = from
	}
	return 0, nil
}

// Size is how many bytes the files have, without what tar adds.
func (s *Snapshot) Size() (bytes int64) {
	for _, f := range s.files {
		bytes += f.size
	}
	return bytes
}

// WriteTar writes the snapshot. Unpacked into an empty folder it is a data folder.
func (s *Snapshot) WriteTar(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, name := range s.folders {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: folderMode, ModTime: time.Now().Truncate(time.Second)}); err != nil {
			return err
		}
	}
	for _, f := range s.files {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: fileMode, Size: f.size, ModTime: f.at}); err != nil {
			return err
		}
		if _, err := io.Copy(t, io.LimitReader(io.MultiReader(io.NewSectionReader(f, 0, f.written), zeros{}), f.size)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return t.Close()
}

// zeros are what a file is filled up with: what was allocated and not written.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Close releases the files.
func (s *Snapshot) Close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
