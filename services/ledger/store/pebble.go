package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// memTable is how many bytes pebble collects before it writes tables. What a crash takes of them is made again from the
// packs, so that they should not be many; and while they fit into a processor's cache, keys are put in order faster.
const memTable = 8 << 20

// pebbleOptions are for small values that are written once, under random keys of 33 bytes that find them.
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
		// What is damaged is an error of who reads it, and no reason to give up.
		EventListener: &pebble.EventListener{DataCorruption: func(pebble.DataCorruptionInfo) {}},
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	return o
}

// openPebble opens it. It may give up with a panic.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if said := recover(); said != nil {
			err = fmt.Errorf("opening %s: %v", dir, said)
		}
	}()
	return pebble.Open(dir, o)
}
