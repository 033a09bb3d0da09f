package segment

import (
	"errors"
	"hash/crc32"
	"io/fs"
	"path/filepath"
)

// syncedName is a file beside the segments that says which records there are: the last group has no other proof that
// it was synced, and a segment that is missing before the first none at all. It is written in place after each sync,
// and synced itself only before a segment is removed: so it survives the death of the process, and after that of the
// machine it says too little, never too much. It says nothing while the disk has no space for it.
//
//	 0  uint64   the number after the last record that was synced
//	 8  uint64   the number of the first record kept
//	16  uint32   CRC-32C of these
//	20  4 zeros
const (
	syncedName  = "synced"
	syncedBytes = 24
)

// readSynced opens the file, which is made if need be, and returns its numbers; 0: they are not known.
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
	if n == syncedBytes && crc32.Checksum(b[:16], castagnoli) == order.Uint32(b[16:]) {
		return order.Uint64(b[8:]), order.Uint64(b), nil
	}
	if len(f.segments) > 0 && n > 0 {
		f.log.Warn("the note of which records there are is damaged and begun anew: what is missing at either end of the log goes unnoticed this time", "file", path)
	}
	return 0, 0, nil
}

// noteSynced notes that everything written is durable, and where the log begins.
func (f *Files) noteSynced() error {
	b := order.AppendUint64(f.w.note[:0], f.w.syncedNext)
	b = order.AppendUint64(b, f.first)
	order.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err := f.syncedFile.WriteAt(f.w.note[:], 0)
	return err
}
