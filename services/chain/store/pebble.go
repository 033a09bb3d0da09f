package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// memTable is the number of bytes that Pebble collects before it writes tables.
const memTable = 16 << 20

// cacheBytes is what the store keeps of what it has read, Pebble's default.
const cacheBytes = 8 << 20

// OpenPebble opens Pebble, which may panic, with a cache of blocks that it has read.
func OpenPebble(dir string, readOnly bool, cacheBytes int64) (db *pebble.DB, err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("%v", said)
		}
	}()
	return pebble.Open(dir, &pebble.Options{
		ReadOnly:           readOnly,
		FormatMajorVersion: pebble.FormatValueSeparation,
		MemTableSize:       memTable,
		CacheSize:          cacheBytes,
		Logger:             logger{},
		// Damage is an error of the reading call, and no reason to end the process.
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	})
}

// Written returns how many bytes Pebble has written to disk since the database was opened: its log,
// tables, and tables again in compactions.
func Written(db *pebble.DB) int64 {
	m := db.Metrics()
	n := int64(m.WAL.BytesWritten)
	for _, level := range m.Levels {
		n += int64(level.TableBytesFlushed + level.TableBytesCompacted)
	}
	return n
}

// Settle writes the log of a closed database of Pebble's to tables, in which a changed bit is found
// by a checksum (in a log Pebble takes it for the end of an interrupted write), and removes the
// files that are no longer needed.
func Settle(dir string) error {
	db, err := OpenPebble(dir, false, cacheBytes) // which does it
	if err == nil {
		err = db.Close()
	}
	return err
}

// logger discards Pebble's messages, except for fatal ones.
type logger struct{}

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf must not return: Pebble would continue as if the write had succeeded. It panics, so that a
// failed write becomes an error (guard), and a failure on a goroutine of Pebble's ends the process
// with the reason.
func (logger) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// guard runs a write to Pebble, and what notes that it was written, with the lock held. After the first that fails the store writes no more: what was
// written last may or may not be there, whole in either case, when the store is opened again.
func (s *Store) guard(write func() error, note func()) (err error) {
	if err := s.failed(); err != nil {
		return err
	}
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("%v", said)
		}
		if err != nil {
			err = fmt.Errorf("writing %s: %w; start again when the cause is fixed", s.dir, err)
			s.mu.Lock()
			s.bad = err
			s.mu.Unlock()
		}
	}()
	if err := write(); err != nil || note == nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	note()
	return nil
}

func (s *Store) failed() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bad
}

// Damage is a file of Pebble's with what is wrong with it.
type Damage struct {
	File string // path
	Err  error
}

// CheckTables reads all tables of a folder of Pebble's, also those of other programs' databases,
// and returns those in which a block of bytes has not the checksum that it was written with. The
// database must not be open for writing.
func CheckTables(dir string) (bad []Damage, err error) {
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		return nil, err
	}
	for _, path := range tables {
		if err := checkTable(path); err != nil {
			bad = append(bad, Damage{File: path, Err: firstLine{err}})
		}
	}
	return bad, nil
}

func checkTable(path string) (err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("%v", said)
		}
	}()
	file, err := vfs.Default.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	reader, err := sstable.NewReader(context.Background(), readable, (&pebble.Options{}).MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(reader.ValidateBlockChecksums(), reader.Close())
}

// FileOf returns the path of the table that an error says is damaged; otherwise where.
func FileOf(err error, where string) string {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil && info.Path != "" {
		return info.Path
	}
	return where
}

// firstLine is an error without the stack traces that Pebble's have.
type firstLine struct{ error }

func (e firstLine) Unwrap() error { return e.error }

func (e firstLine) Error() string {
	line, _, _ := bytes.Cut([]byte(e.error.Error()), []byte("\n"))
	return string(line)
}
