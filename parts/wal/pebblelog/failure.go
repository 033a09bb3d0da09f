package pebblelog

import (
	"fmt"

	"dyno/parts/wal"
)

// logger is what pebble says: nothing until it gives up.
type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf must not return: pebble would go on as if nothing had happened and could drop its log for a table
// that was never made durable. Its own logger ends the process; this one panics, so that a write that failed
// becomes an error (guard), and a failure on a goroutine of pebble's ends the process with the reason.
func (logger) Fatalf(format string, args ...any) { panic(fatal(fmt.Sprintf(format, args...))) }

// fatal is what pebble said when it gave up.
type fatal string

func (f fatal) Error() string { return string(f) }

// guard runs what writes to pebble, and makes an error of the panic by which pebble says that its log could
// not be written. The log has failed then: what was written last may or may not be there after a restart.
func (s *store) guard(write func() error) (err error) {
	s.open.RLock()
	defer s.open.RUnlock()
	switch {
	case s.closed:
		return wal.ErrClosed
	case s.failed != nil:
		return s.failed
	}
	defer func() {
		if said := recover(); said != nil {
			_, orderly := said.(fatal)
			s.stuck = !orderly
			s.failed = fmt.Errorf("%w: pebble in %s gave up: %v", wal.ErrFailed, s.dir, said)
			err = s.failed
		}
	}()
	return write()
}
