package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// memTable is the number of bytes that pebble collects before it writes tables. After a crash they
// are rebuilt from the packs, so they should be few; and while they fit into a processor's cache,
// keys are sorted faster.
const memTable = 8 << 20

// pebbleOptions are for small values that are written once, under random keys of 33 bytes.
func pebbleOptions(fs vfs.FS, readOnly bool) *pebble.Options {
	o := &pebble.Options{
		FS:                    fs,
		ReadOnly:              readOnly,
		DisableWAL:            true, // the packs are the log
		FormatMajorVersion:    pebble.FormatValueSeparation,
		MemTableSize:          memTable,
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 64,
		Logger:                logger{},
		// Damage is an error of the reading call, and no reason to end the process.
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return o
}

// openPebble opens pebble, which may panic.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("opening %s: %v", dir, said)
		}
	}()
	return pebble.Open(dir, o)
}

const repairHint = "; ledgersync check --repair removes the damaged bytes, and sync fetches the ledgers again"

func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isLocked(err):
		return fmt.Errorf("another process has it open; stop that one or choose another folder (%w)", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; run it as the folder's owner", err)
	}
	return fmt.Errorf("its index cannot be read: %w%s", firstLine{err}, repairHint)
}
