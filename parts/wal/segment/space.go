package segment

import (
	"path/filepath"

	"dyno/parts/vfs"
	"dyno/parts/wal/segment/frame"
)

// reserveName is the file that holds the reserve.
const reserveName = "reserve"

// prepare creates the file of the next segment while there is space for it, so that on a full disk
// the log can still start a segment and remove earlier ones.
func (f *Files) prepare() {
	if f.w.spare != nil {
		return
	}
	path := filepath.Join(f.dir, newName)
	file, err := f.fs.Create(path)
	if err != nil {
		return
	}
	if _, err := file.WriteAt(make([]byte, frame.HeaderBytes), 0); err != nil {
		_ = file.Close()
		_ = f.fs.Remove(path)
		return
	}
	f.w.spare = file
}

// replenish allocates the reserve, or part of it on a disk that is nearly full.
func (f *Files) replenish() {
	if f.reserve <= 0 || f.w.reserved {
		return
	}
	path := filepath.Join(f.dir, reserveName)
	file, err := f.fs.Create(path)
	if err != nil {
		return
	}
	for size := f.reserve; size >= f.reserve/16; size /= 4 {
		if err = file.Allocate(0, size); !vfs.Full(err) {
			break
		}
	}
	_ = file.Close()
	if err != nil { // a file system that cannot allocate has no reserve
		_ = f.fs.Remove(path)
		return
	}
	f.w.reserved = true
}

// release frees the reserve; false if there is none.
func (f *Files) release() bool {
	if !f.w.reserved {
		return false
	}
	f.w.reserved = false
	f.low.Store(true)
	return f.fs.Remove(filepath.Join(f.dir, reserveName)) == nil
}
