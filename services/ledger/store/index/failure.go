package index

import (
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrFailed means that a write failed; it stays until the store is opened again.
var ErrFailed = errors.New("the store has failed")

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
// (Guard), and a failure on a goroutine of pebble's ends the process with the reason.
func (logger) Fatalf(format string, args ...any) { panic(gaveUp(fmt.Sprintf(format, args...))) }

// gaveUp is pebble's fatal message.
type gaveUp string

func (g gaveUp) Error() string { return string(g) }

// Guard runs a write to the index or to the packs, and returns an error for the panic by which
// pebble reports that it could not write. The store has failed then: the last write may or may not
// be there, whole in either case, when the store is opened again.
func (d *DB) Guard(write func() error) (err error) {
	if cause := d.failure.cause.Load(); cause != nil {
		return *cause
	}
	defer func() {
		if said := recover(); said != nil {
			if _, orderly := said.(gaveUp); !orderly {
				d.failure.stuck.Store(true)
			}
			err = d.fail(fmt.Errorf("%w: %s could not be written (%v); make room or fix the disk, then start again", ErrFailed, d.data, said))
		}
	}()
	if err := write(); err != nil {
		return d.fail(fmt.Errorf("%w: writing %s: %w; start again when the cause is fixed", ErrFailed, d.data, err))
	}
	return nil
}

func (d *DB) fail(err error) error {
	d.failure.cause.CompareAndSwap(nil, &err)
	return *d.failure.cause.Load()
}

// Failed reports whether a write has failed.
func (d *DB) Failed() bool { return d.failure.cause.Load() != nil }
