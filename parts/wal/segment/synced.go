package segment

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"path/filepath"
)

// syncedName is a file beside the segments that says which records exist: nothing else proves that
// the last group was synced, or that a segment is missing before the first. It is written in place
// after each sync, and synced itself only before a segment is removed. So it survives the end of
// the process, and after a crash of the machine it may name too few records, never too many. It is
// empty while the disk has no space for it.
//
//	 0  uint64   the number after the last record that was synced
//	 8  uint64   the number of the first record kept
//	16  uint32   CRC-32C of these
//	20  4 zeros
const (
	syncedName  = "synced"
	syncedBytes = 24
)

var crc32c = crc32.MakeTable(crc32.Castagnoli)

// readSynced opens or creates the file and returns its numbers; 0 means that they are not known.
func (f *Files) readSynced() (first, next uint64, err error) {
	path := filepath.Join(f.dir, syncedName)
	file, err := f.fs.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		file, err = f.fs.Create(path)
	}
	if err != nil {
		return 0, 0, err
	}
	f.syncedFile = file
	b := make([]byte, syncedBytes)
	n, _ := file.ReadAt(b, 0)
	if n == syncedBytes && crc32.Checksum(b[:16], crc32c) == binary.LittleEndian.Uint32(b[16:]) {
		return binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b), nil
	}
	if len(f.segments) > 0 && n > 0 {
		f.log.Warn("the file that says which records exist is damaged and created again: records missing at either end of the log go unnoticed this time", "file", path)
	}
	return 0, 0, nil
}

// noteSynced records that everything written is durable, and where the log begins.
func (f *Files) noteSynced() error {
	b := binary.LittleEndian.AppendUint64(f.w.note[:0], f.w.syncedNext)
	b = binary.LittleEndian.AppendUint64(b, f.first)
	binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32c))
	_, err := f.syncedFile.WriteAt(f.w.note[:], 0)
	return err
}
