// Package segment is a wal.Backend in files, for records that must not be lost.
//
//	files, err := segment.Open(dir, segment.Options{})
//	log := wal.New(files, wal.Options{Commit: wal.Group})
//
// It is for one process at a time, which must hold a lock (parts/datadir has one), and needs a
// reliable fsync. It is not for random writes or compression. It starts no goroutines.
//
// # Segments
//
// A log is a folder of segments, files named after the number of their first record. New records go
// to the last one. Once a sync finds it larger than Options.SegmentBytes, the next Write starts
// another, so that a Write and a group (the records made durable by one sync) are always in one
// segment. A segment is created under another name, synced and renamed, and the folder synced,
// before a record in it counts: a segment's header is never torn.
//
// Package frame has the bytes of a segment.
//
// # After a crash
//
// A group is written only after the group before it was synced successfully. So a readable record
// whose group begins after number n proves that n was synced. Open reads the last segment. Where it
// meets bytes that are not a valid record, it looks for such a proof behind them. Without a proof,
// this is the end of the log and an unfinished append, which is cut off with the rest of its batch
// after a copy was made; with a proof, it is damage. The last group has no records behind it: the
// file "synced" holds the number up to which records were synced, and the number from which on they
// are kept, so that records missing at either end are noticed. The segments before the last hold
// synced records only and are checked when they are read, so that opening takes the same time for
// any size of log.
//
// Damage is never ignored: it is logged, the bytes are copied to the folder "quarantine", and a
// scan returns a wal.DamageError with the numbers lost. The numbers continue behind it. Open cuts
// damage off only when its bytes are in the quarantine, and otherwise refuses to open the log.
// Copies of unfinished appends are also kept there, the last 100 of them, if there is space.
//
// # Failures
//
// On a full disk a new segment can still be started, since its file is created ahead of time
// ("begun.tmp"), so that older segments can be removed. A log may also have a reserve
// (Options.Reserve, the file "reserve"). Write uses it when the disk is full, as do the start of a
// segment and the copy of damage. The next Trim that frees space allocates it again. When the disk
// has no space even for the file "synced", Trim empties that file, which needs none.
//
// After a failed sync the contents of the file are unknown, and another sync does not help: the
// kernel has dropped the pages that it could not write. The segment ends where the last successful
// sync left it, as the header of the next segment says; if that cannot be started either, all later
// calls return wal.ErrFailed. After a failed write, as on a full disk, the file is truncated to its
// size before the write, and the next Write tries again.
package segment
