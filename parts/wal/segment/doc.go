// Package segment keeps a log's records in files: the wal.Backend to use for what must not be lost.
//
//	files, err := segment.Open(dir, segment.Options{})
//	log := wal.New(files, wal.Options{Commit: wal.Group})
//
// It is for one process at a time, which holds a lock of its own (parts/daemon has one), and for a file
// system whose fsync means it. It is not for random writes and does not compress. It starts no goroutines.
//
// # Segments
//
// A log is a folder of segments, files named after the number of their first record. The last is written to;
// once a sync finds it larger than Options.SegmentBytes, the next Write begins another, so that a Write and a
// group (what is made durable by one sync) never lie in two. A segment is begun under another name, synced,
// renamed, and the folder synced, before a record in it counts: a segment's header is never torn.
//
// All integers are little-endian. A segment begins with 64 bytes:
//
//	 0  8 bytes  "dynowal\n"
//	 8  uint32   version, 1
//	12  uint32   CRC-32C of the other 60 bytes
//	16  uint64   number of the first record
//	24  uint64   first number of the segment before it; 0: there was none
//	32  uint64   where the segment before it ends: bytes beyond do not count
//	40  uint64   salt
//	48  16 zeros
//
// Records follow, each at a multiple of 8 bytes, filled up with zeros:
//
//	 0  uint32   CRC-32C of the next 28 bytes, begun with the salt
//	 4  uint32   CRC-32C of the data, begun with the salt
//	 8  uint32   bytes of data
//	12  uint32   how many records of the same batch follow
//	16  uint64   number
//	24  uint64   number of the first record of the same group
//	32  data
//
// The salt, random and known to nobody outside, keeps a record's data from posing as a record.
//
// # What is true after a crash
//
// A group is written only after the sync of the group before it succeeded. So a record that can be read and
// whose group begins after number n proves that n was synced. Open reads the last segment. Where it meets
// bytes that are not the record they should be, it looks for such a proof behind them: without one it is the
// end of the log, an append that was not finished, and is cut off with the rest of its batch, of which a copy is kept;
// with one it is damage. The last group has nothing behind it: the file "synced" says up to which number records were
// synced, and from which on they are kept, so that what is missing at either end is missed. The segments before the last hold synced records only and are checked when they are read, so that
// opening takes the same time whatever the size of the log.
//
// Damage is never passed over in silence: it is logged, the bytes are copied to the folder "quarantine", and
// a scan returns a wal.DamageError that names the numbers lost. The numbers go on behind it. Open cuts off damage only
// when its bytes are in the quarantine, and refuses to open the log otherwise. Copies of appends that were not finished are
// kept there, too, the last 100 of them, where there is space.
//
// # Failures
//
// On a full disk a segment can still be begun, since the file for it is made ahead ("begun.tmp"), so that those before it
// can be given up; and a log may have a reserve (Options.Reserve, the file "reserve"), which Write takes to when there is
// nothing else, as do the beginning of a segment and the copy of damage. The next Trim that made space sets it aside again.
// Where the disk has no space even for the file "synced", Trim empties that, which takes none.
//
// After a failed sync nobody knows what the file holds, and asking again is no help: the kernel has dropped
// what it could not write. The segment ends where the last successful sync left it, which the header of the
// next says; if that cannot be begun either, the answer is wal.ErrFailed from then on. After a failed
// write, as on a full disk, the file is cut back to what was there before, and the next Write tries again.
package segment
