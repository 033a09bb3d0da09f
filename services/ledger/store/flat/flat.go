// Package flat keeps records in flat append-only files: a record is written once, where it stays, and found again by its
// Ref. It is for bytes that are large, never change, and have an index elsewhere that can be made again from them.
//
//	files, err := flat.Open(dir, flat.Options{})
//	record := append(flat.Begin(nil), "..."...)
//	ref, err := files.Append(record) // survives the death of the process
//	err = files.Sync()               // and now a power cut
//	record, err = files.Read(ref, nil)
//
// It is not an index, and forgets nothing by itself but whole files (Remove). It is not for two processes at the same
// time. It starts no goroutines.
//
// # Format
//
// A file is called NUMBER-NONCE.pack, and holds frames one after another:
//
//	nonce8 | size of the record4 | CRC-32C of size and record4 | record
//
// Numbers are big-endian, and files are numbered from 1 on in the order in which they were begun. The nonce, which is
// random for each file, is where Scan finds the next frame behind damage: records hold what strangers wrote, who could
// otherwise write frames into them. Files are never written again once they were closed, so that what a crash left
// half-written stays where it is, and is no record.
package flat

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// HeaderSize is how many bytes of a frame stand before its record.
	HeaderSize = nonceSize + 8
	nonceSize  = 8

	// MaxRecord bounds a record, in bytes.
	MaxRecord = 128 << 20
	// maxFile is from which size on a file is followed by the next, in bytes, unless Options say otherwise.
	maxFile = 256 << 20
	// maxOpen is how many files are kept open for reading: 64 GiB of them. A million ledgers of 90 transactions make some 400
	// files, and a process may often have no more than 1,024 open.
	maxOpen = 256
)

var (
	// ErrDamaged is for bytes that are not what was written.
	ErrDamaged = errors.New("damaged")
	// ErrClosed is for files after Close.
	ErrClosed = errors.New("the files are closed")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Options is how files are opened. Its zero values are the documented defaults.
type Options struct {
	FS      vfs.FS // nil: the disk's
	MaxFile int64  // from this size on a file is followed by the next, in bytes; 0: 256 MiB
}

// Ref is where a record is.
type Ref struct {
	File   uint32
	Offset uint32 // of its frame
	Size   uint32 // of the record, in bytes
}

// End is the position behind a record.
func (r Ref) End() Position {
	return Position{r.File, int64(r.Offset) + HeaderSize + int64(r.Size)}
}

// Position is between two records.
type Position struct {
	File   uint32
	Offset int64
}

// Before says whether p comes before q.
func (p Position) Before(q Position) bool {
	return p.File < q.File || p.File == q.File && p.Offset < q.Offset
}

// File is one of the files.
type File struct {
	Number uint32
	Name   string
	Size   int64 // bytes
}

// Files are the files of a folder. Their methods may be called from many goroutines.
type Files struct {
	fs  vfs.FS
	dir string
	max int64

	mu     sync.Mutex
	closed bool
	list   map[uint32]*file // guarded by mu
	last   uint32           // guarded by mu: the highest number ever given
	now    *file            // guarded by mu: what is appended to; nil: nothing yet
	write  vfs.File         // guarded by mu: of now
	loose  []vfs.File       // guarded by mu: written, not synced yet, and followed by others
	open   []*file          // guarded by mu: for reading; the one that was asked for last is at the end

	syncing sync.Mutex // held during a Sync
}

// file is one of them.
type file struct {
	File
	nonce [nonceSize]byte
	read  vfs.File // nil: it is not open for reading; guarded by Files.mu
	users int      // who read it now; guarded by Files.mu
}

// Open opens the files of a folder. One that is missing is made with the first record.
func Open(dir string, o Options) (*Files, error) {
	f := &Files{fs: o.FS, dir: dir, max: o.MaxFile, list: map[uint32]*file{}}
	if f.fs == nil {
		f.fs = vfs.Default
	}
	if f.max <= 0 || f.max > maxFile {
		f.max = maxFile
	}
	names, err := f.fs.List(dir)
	if err != nil {
		if _, missing := f.fs.Stat(dir); missing != nil {
			return f, nil
		}
		return nil, err
	}
	for _, name := range names {
		one := &file{File: File{Name: name}}
		if !one.parse(name) {
			continue
		}
		info, err := f.fs.Stat(f.path(name))
		if err != nil {
			return nil, err
		}
		if f.list[one.Number] != nil {
			return nil, fmt.Errorf("%s holds two files of number %d; take one of them away", dir, one.Number)
		}
		one.Size = info.Size()
		f.list[one.Number] = one
		f.last = max(f.last, one.Number)
	}
	return f, nil
}

const nameFormat = "%06d-%016x.pack"

// parse reads a file's name. Others lie in the folder, too: they are none of these.
func (f *file) parse(name string) bool {
	var nonce uint64
	if n, err := fmt.Sscanf(name, nameFormat, &f.Number, &nonce); n != 2 || err != nil || fmt.Sprintf(nameFormat, f.Number, nonce) != name {
		return false
	}
	binary.BigEndian.PutUint64(f.nonce[:], nonce)
	return f.Number > 0
}

func (f *Files) path(name string) string { return f.fs.PathJoin(f.dir, name) }

// List is the files from a number on, in their order.
func (f *Files) List(from uint32) (list []File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.list {
		if one.Number >= from {
			list = append(list, one.File)
		}
	}
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// End is the position behind the last record.
func (f *Files) End() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == 0 || f.list[f.last] == nil {
		return Position{File: f.last}
	}
	return Position{f.last, f.list[f.last].Size}
}

// Begin makes room for a frame's header: to what it returns the record is appended, for Append.
func Begin(b []byte) []byte { return append(b, make([]byte, HeaderSize)...) }

// Append writes a record that begins with Begin. It survives the death of the process, and after the next Sync a power
// cut. After an error it is not there, and the next one goes to another file.
func (f *Files) Append(frame []byte) (Ref, error) {
	record := frame[HeaderSize:]
	if len(record) > MaxRecord {
		return Ref{}, fmt.Errorf("a record of %d bytes is larger than %d", len(record), MaxRecord)
	}
	binary.BigEndian.PutUint32(frame[nonceSize:], uint32(len(record)))
	binary.BigEndian.PutUint32(frame[nonceSize+4:], checksum(frame))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return Ref{}, ErrClosed
	}
	if f.now == nil || f.now.Size+int64(len(frame)) > f.max && f.now.Size > 0 {
		if err := f.begin(); err != nil {
			return Ref{}, err
		}
	}
	copy(frame, f.now.nonce[:])
	if _, err := f.write.Write(frame); err != nil {
		f.put(f.write) // what was written before is to be synced all the same
		f.now, f.write = nil, nil
		return Ref{}, err
	}
	ref := Ref{f.now.Number, uint32(f.now.Size), uint32(len(record))}
	f.now.Size += int64(len(frame))
	return ref, nil
}

// checksum is that of a frame whose size is set.
func checksum(frame []byte) uint32 {
	sum := crc32.Update(0, castagnoli, frame[nonceSize:nonceSize+4])
	return crc32.Update(sum, castagnoli, frame[HeaderSize:])
}

// put keeps a file that is full until it is synced.
func (f *Files) put(full vfs.File) { f.loose = append(f.loose, full) }

// begin begins the next file. It is called with mu held.
func (f *Files) begin() error {
	next := &file{File: File{Number: f.last + 1}}
	rand.Read(next.nonce[:])
	next.Name = fmt.Sprintf(nameFormat, next.Number, binary.BigEndian.Uint64(next.nonce[:]))
	if len(f.list) == 0 {
		if err := f.fs.MkdirAll(f.dir, 0o755); err != nil {
			return err
		}
		if err := f.syncFolder(f.fs.PathDir(f.dir)); err != nil {
			return err
		}
	}
	write, err := f.fs.Create(f.path(next.Name), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	f.last = next.Number // there, whatever comes of it: no other file has this number
	if err := f.syncFolder(f.dir); err != nil {
		return errors.Join(err, write.Close())
	}
	if f.write != nil {
		f.put(f.write)
	}
	f.now, f.write, f.list[next.Number] = next, write, next
	return nil
}

func (f *Files) syncFolder(dir string) error {
	d, err := f.fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Sync makes durable what was appended before. After an error it is not known what is.
func (f *Files) Sync() error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	f.mu.Lock()
	now, loose := f.write, f.loose
	f.loose = nil
	f.mu.Unlock()
	var err error
	for _, full := range loose {
		err = errors.Join(err, full.Sync(), full.Close())
	}
	if now != nil {
		err = errors.Join(err, now.SyncData())
	}
	return err
}

// Read reads a record into the memory of a slice, or new memory, and checks it. ErrDamaged: it is not what was written.
func (f *Files) Read(ref Ref, into []byte) ([]byte, error) {
	one, from, err := f.reader(ref.File)
	if err != nil {
		return nil, err
	}
	defer f.done(one)
	if ref.Size > MaxRecord {
		return nil, fmt.Errorf("%w: a record of %d bytes in %s is larger than %d", ErrDamaged, ref.Size, one.Name, MaxRecord)
	}
	frame := slices.Grow(into[:0], HeaderSize+int(ref.Size))[:HeaderSize+int(ref.Size)]
	if _, err := from.ReadAt(frame, int64(ref.Offset)); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("%w: %s ends before byte %d", ErrDamaged, one.Name, ref.End().Offset)
		}
		return nil, err
	}
	if !one.whole(frame) {
		return nil, fmt.Errorf("%w: bytes %d to %d of %s are not what was written", ErrDamaged, ref.Offset, ref.End().Offset, one.Name)
	}
	return frame[HeaderSize:], nil
}

// whole says whether bytes are a frame, from the first to the last.
func (f *file) whole(frame []byte) bool {
	return [nonceSize]byte(frame) == f.nonce && int(binary.BigEndian.Uint32(frame[nonceSize:])) == len(frame)-HeaderSize &&
		binary.BigEndian.Uint32(frame[nonceSize+4:]) == checksum(frame)
}

// Remove gives up a file with all that is in it. It must not be the one that is appended to.
func (f *Files) Remove(number uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.list[number]
	if one == nil || one == f.now {
		return fmt.Errorf("file %d of %s is not there, or is written to", number, f.dir)
	}
	if err := f.shut(one); err != nil {
		return err
	}
	if err := f.fs.Remove(f.path(one.Name)); err != nil {
		return err
	}
	delete(f.list, number)
	return nil
}

// Close ends the files, after a Sync. A second Close does nothing.
func (f *Files) Close() error {
	err := f.Sync()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if f.write != nil {
		err = errors.Join(err, f.write.Close())
	}
	for len(f.open) > 0 {
		err = errors.Join(err, f.shut(f.open[0]))
	}
	return err
}
