package store

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// memTable is how many bytes pebble collects before it writes tables.
const memTable = 64 << 20

// pebbleOptions are for values of tens of kilobytes that are written once, under random keys of 33 bytes that find
// them. BenchmarkAppend measures what else was tried: pebble's defaults, for one, write 247 instead of 142 KB to the
// disk for a ledger of 68 KB without compression, over the first 6,400 ledgers.
func pebbleOptions(fs vfs.FS, readOnly bool) *pebble.Options {
	o := &pebble.Options{
		FS:                    fs,
		ReadOnly:              readOnly,
		FormatMajorVersion:    pebble.FormatValueSeparation,
		MemTableSize:          memTable,
		L0CompactionThreshold: 8,
		L0StopWritesThreshold: 64,
		Logger:                logger{},
	}
	o.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionNone })
	// Ledgers go to files of their own when a memory table is written, and stay there while the indexes, whose keys
	// are random, are merged again and again.
	o.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled:               true,
			MinimumSize:           1 << 10,
			MaxBlobReferenceDepth: 10,
			RewriteMinimumAge:     0,
			TargetGarbageRatio:    1, // nothing is ever deleted
		}
	}
	return o
}
