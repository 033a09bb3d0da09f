// Package segment keeps a log's records in files.
package segment

import (
	"errors"
	"log/slog"

	"dyno/parts/wal"
)

// Options of Files. The zero value is the documented default.
type Options struct {
	SegmentBytes int64        // a segment that has grown to this size is followed by another; 0: 64 MiB
	FS           FS           // nil: the operating system's
	Log          *slog.Logger // nil: slog.Default
}

// FS is the part of a file system that a log stands on.
type FS interface{}

// Files is a wal.Backend in files.
type Files struct{ wal.Backend }

// Open opens the log in dir, which is created if need be.
func Open(dir string, o Options) (*Files, error) { return nil, errors.New("not there yet") }

// Quarantined lists the damage that was found since Open.
func (f *Files) Quarantined() []*wal.DamageError { return nil }
