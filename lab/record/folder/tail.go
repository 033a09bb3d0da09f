package folder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"dyno/lab/record"
)

// Bounds on one reading of a growing file.
const (
	maxBehind = 2 << 20  // bytes of a series: about 3,000 windows, five minutes
	maxBite   = 1 << 19  // bytes of a series
	maxSlices = 16 << 20 // bytes of the slices: some 30,000 of them
)

// Series reads the windows of a run in progress as they come.
type Series struct {
	Run    string
	Offset int64 // bytes read so far
	First  int64 // start of the series, ns; 0: not read yet
}

// Next returns the windows of the complete lines that were added since the last call. If they are
// more than maxBehind bytes, it skips the oldest.
func (s *Series) Next(f *Followed) ([]record.Window, error) {
	name := path.Join(record.RunsFolder, s.Run, SeriesFile)
	if at, err := f.root.Lstat(name); err != nil || !at.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if s.First == 0 {
		if s.First, err = firstWindow(file); err != nil {
			return nil, err
		}
	}
	partial := false
	if s.Offset > size {
		s.Offset = 0 // rewritten from the start
	}
	if size-s.Offset > maxBehind {
		s.Offset, partial = size-maxBehind, true
	}
	lines, err := readLines(file, s.Offset, min(size-s.Offset, maxBite))
	if err != nil {
		return nil, err
	}
	s.Offset += int64(len(lines))
	var out []record.Window
	for line := range bytes.Lines(lines) {
		var w record.Window
		if partial || json.Unmarshal(line, &w) != nil {
			partial = false
			continue
		}
		out = append(out, w)
	}
	return out, nil
}

// firstWindow returns the start of the first window of a series, in ns.
func firstWindow(file io.ReaderAt) (int64, error) {
	line, err := bufio.NewReader(io.NewSectionReader(file, 0, maxBite)).ReadBytes('\n')
	if err != nil {
		return 0, fmt.Errorf("no window yet: %w", err)
	}
	var w record.Window
	if err := json.Unmarshal(line, &w); err != nil {
		return 0, fmt.Errorf("first window: %w", err)
	}
	return w.Start, nil
}

// readLines reads complete lines. If maxBite bytes hold no line end, it returns them all, so that
// the caller skips them: no window is that long.
func readLines(file io.ReaderAt, from, most int64) ([]byte, error) {
	part := make([]byte, most)
	n, err := file.ReadAt(part, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	part = part[:n]
	if whole := bytes.LastIndexByte(part, '\n') + 1; whole > 0 || n < maxBite {
		return part[:whole], nil
	}
	return part, nil
}

// Slices reads the slices of an experiment by turns as they come.
type Slices struct {
	All  []record.Slice // read so far
	read int64          // bytes
}

// Next reads the complete lines that were added, and reports whether there were any.
func (s *Slices) Next(f *Followed) bool {
	at, err := f.root.Lstat(SlicesFile)
	if err != nil || !at.Mode().IsRegular() || at.Size() == s.read || at.Size() > maxSlices {
		return false
	}
	if at.Size() < s.read { // another experiment of that name
		s.read, s.All = 0, nil
	}
	file, err := f.root.Open(SlicesFile)
	if err != nil {
		return false
	}
	defer file.Close()
	lines, err := readLines(file, s.read, at.Size()-s.read)
	if err != nil {
		return false
	}
	s.read += int64(len(lines))
	for line := range bytes.Lines(lines) {
		var one record.Slice
		if json.Unmarshal(line, &one) == nil {
			s.All = append(s.All, one)
		}
	}
	return len(lines) > 0
}
