package store

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// reserve is the number of bytes that must stay free for pebble's own writes: the tables of its
// full memory tables, and as much again while they are merged.
const reserve = 4 * memTable

// failure is the reason why the store stopped writing.
type failure struct {
	cause atomic.Pointer[error]
	stuck atomic.Bool // pebble failed with its locks held, so that closing it would block forever
}

// logger discards pebble's messages, except for fatal ones.
type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf must not return: pebble would continue as if the write had succeeded, and could drop its
// log for a table that was never made durable. It panics, so that a failed write becomes an error
// (guard), and a failure on a goroutine of pebble's ends the process with the reason.
func (logger) Fatalf(format string, args ...any) { panic(gaveUp(fmt.Sprintf(format, args...))) }

// gaveUp is pebble's fatal message.
type gaveUp string

func (g gaveUp) Error() string { return string(g) }

// guard runs a write to pebble, and returns an error for the panic by which pebble reports that its
// log could not be written. The store has failed then: the last write may or may not be there,
// whole in either case, when the store is opened again.
func (s *Store) guard(write func() error) (err error) {
	if cause := s.failure.cause.Load(); cause != nil {
		return *cause
	}
	defer func() {
		if said := recover(); said != nil {
			if _, orderly := said.(gaveUp); !orderly {
				s.failure.stuck.Store(true)
			}
			err = s.fail(fmt.Errorf("%w: %s could not be written (%v); make room or fix the disk, then start again", ErrFailed, s.dir, said))
		}
	}()
	if err := write(); err != nil {
		return s.fail(fmt.Errorf("%w: writing %s: %w; start again when the cause is fixed", ErrFailed, s.dir, err))
	}
	return nil
}

func (s *Store) fail(err error) error {
	s.failure.cause.CompareAndSwap(nil, &err)
	return *s.failure.cause.Load()
}

// room refuses a write without room on the disk, while pebble has room to finish its own.
func (s *Store) room(size int) error {
	usage, err := s.fs.GetDiskUsage(s.existing())
	if err != nil || usage.AvailBytes >= reserve+2*uint64(size) {
		return nil // a file system that does not report its free space is tried
	}
	return fmt.Errorf("%w: %d MiB are free for %s, which needs %d MiB to work in; make room, or move the folder to a larger disk",
		ErrFull, usage.AvailBytes>>20, s.dir, (reserve+2*uint64(size))>>20)
}

// existing is the store's folder, or the nearest existing parent.
func (s *Store) existing() string {
	dir := s.dir
	for {
		if _, err := s.fs.Stat(dir); err == nil {
			return dir
		}
		parent := s.fs.PathDir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}

// firstLine is the first line of an error of pebble's, which repeats itself in the following lines.
type firstLine struct{ error }

func (f firstLine) Error() string { line, _, _ := strings.Cut(f.error.Error(), "\n"); return line }
func (f firstLine) Unwrap() error { return f.error }

func isLocked(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || err.Error() == "lock held by current process"
}

// closePebble closes pebble, which panics also here on a fatal error.
func (s *Store) closePebble() (err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("closing %s: %v", s.dir, said)
		}
	}()
	if s.writable && s.failure.cause.Load() == nil {
		err = s.db.Flush() // there is no log
	}
	if err := s.db.Close(); err != nil && !errors.Is(err, pebble.ErrClosed) {
		return fmt.Errorf("closing %s: %w", s.dir, err)
	}
	return err
}
