package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"syscall"
)

const (
	maxLine      = 64 << 20 // bytes: a request of 16 MiB in base64, and whom it is for
	maxUnwritten = 16 << 20 // bytes that wait for room on the disk: some 200,000 settlements
)

// file is what of *os.File is needed; tests put a disk that fills up in its place.
type file interface {
	io.WriteCloser
	Truncate(size int64) error
	Sync() error
}

// lineFile is a file of JSON lines that is only appended to. A line is there whole, or not at all.
type lineFile struct {
	mu        sync.Mutex
	file      file
	size      int64
	unwritten []byte // lines that found no room and go before the next
	failed    error  // nothing can be written any more
}

// append writes a line. It is in the hands of the system on return, and on the disk after sync.
func (f *lineFile) append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.write(f.unwritten); err != nil {
		return err
	}
	f.unwritten = nil
	return f.write(append(line, '\n'))
}

// later appends a line that nobody waits for. Without it a notice would be delivered once more after a
// restart, so it waits here while the disk is full.
func (f *lineFile) later(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		slog.Error("a line that cannot be written as JSON", "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unwritten = append(append(f.unwritten, line...), '\n')
	if f.write(f.unwritten) == nil {
		f.unwritten = f.unwritten[:0]
	} else if len(f.unwritten) > maxUnwritten && f.failed == nil {
		f.failed = fmt.Errorf("%d bytes of settlements could not be written", len(f.unwritten))
	}
}

// write writes whole lines or takes back what it wrote. The caller holds mu.
func (f *lineFile) write(lines []byte) error {
	if f.failed != nil || len(lines) == 0 {
		return f.failed
	}
	n, err := f.file.Write(lines)
	if err == nil {
		f.size += int64(n)
		return nil
	}
	if undo := f.file.Truncate(f.size); undo != nil {
		f.failed = fmt.Errorf("%w; then taking back half a line: %w", err, undo)
	}
	return err
}

// sync puts on the disk what was appended. After an error nobody knows what is on the disk, so nothing more
// is written: the next start reads what is there.
func (f *lineFile) sync() error {
	err := f.file.Sync()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && f.failed == nil {
		f.failed = err
	}
	return f.failed
}

func (f *lineFile) close() { f.file.Close() }

// refuseDisk turns an error of the disk into an answer.
func refuseDisk(err error) *refusal {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return refuse(http.StatusInsufficientStorage, "the disk is full: %v; make room, then send it again", err)
	}
	return refuse(http.StatusServiceUnavailable, "the data folder cannot be written: %v; fix that and start again", err)
}

// createLines makes a file.
func createLines(path string) (*lineFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return nil, err
	}
	return &lineFile{file: f}, nil
}

// lineReader reads a file's lines into values.
type lineReader struct {
	path  string
	lines *bufio.Scanner
	line  int
	whole int64 // bytes of the lines before
	size  int64
}

func readLines(f *os.File) (*lineReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := &lineReader{path: f.Name(), lines: bufio.NewScanner(f), size: info.Size()}
	r.lines.Buffer(nil, maxLine)
	r.lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if zeros := len(data) - len(bytes.TrimLeft(data, "\x00")); zeros > 0 {
			return zeros, data[:zeros], nil // blocks that never reached the disk, however many
		}
		switch i := bytes.IndexAny(data, "\n\x00"); {
		case i >= 0 && data[i] == 0:
			return i, data[:i], nil
		case i >= 0:
			return i + 1, data[:i+1], nil
		case atEOF && len(data) > 0:
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	return r, nil
}

// next reads a line into v; false at the end. The file may end with what was never synced, and so never
// acknowledged: half a line, of a process that died; zeros or anything else, after a power cut. That is left
// out. A line that is no JSON and has whole ones behind it is an error.
func (r *lineReader) next(v any) (bool, error) {
	if !r.lines.Scan() {
		return false, r.unreadable()
	}
	r.line++
	text := r.lines.Bytes()
	err := json.Unmarshal(text, v)
	if err == nil && text[len(text)-1] == '\n' {
		r.whole += int64(len(text))
		return true, nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF // of the line
	}
	torn, line := r.size-r.whole, r.line
	for r.lines.Scan() {
		r.line++
		if text := r.lines.Bytes(); text[0] == '{' && json.Valid(text) {
			return false, fmt.Errorf("%s, line %d is damaged: %w; restore the folder from a backup, or take out the line and lose what it says", r.path, line, err)
		}
	}
	if err := r.unreadable(); err != nil {
		return false, err
	}
	slog.Warn("the end of the file is left out: it was being written when the process or the machine stopped", "file", r.path, "line", line, "bytes", torn)
	return false, nil
}

// unreadable says why there are no more lines, if there may be.
func (r *lineReader) unreadable() error {
	if err := r.lines.Err(); err != nil {
		return fmt.Errorf("%s, line %d: %w", r.path, r.line+1, err)
	}
	return nil
}
