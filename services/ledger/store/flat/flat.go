// Package flat keeps records in flat append-only files: a record is written once, is never moved,
// and is found by its Ref. It is for large bytes that never change and have an index elsewhere that
// can be rebuilt from them.
//
//	files, err := flat.Open(dir, flat.Options{})
//	record := append(flat.Begin(nil), "..."...)
//	ref, err := files.Append(record) // survives the death of the process
//	err = files.Sync()               // and now a power cut
//	record, err = files.Read(ref, nil)
//
// It is not an index, and removes data only as whole files, on request (Remove). Only one process
// at a time may use a folder. It starts no goroutines.
//
// # Format
//
// A file is called NUMBER-NONCE.pack, and holds consecutive frames:
//
//	nonce8 | size of the record4 | CRC-32C of size and record4 | record
//
// Numbers are big-endian, and files are numbered from 1 on in the order of creation. The nonce,
// which is random for each file, lets Scan find the next frame behind damage: records contain
// foreign bytes, whose author could otherwise imitate frames. Files are never written again after
// they are closed, so the half-written end that a crash left stays, and is no record.
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
	// HeaderSize is the number of bytes of a frame before its record.
	HeaderSize = nonceSize + 8
	nonceSize  = 8

	// MaxRecord bounds a record, in bytes.
	MaxRecord = 128 << 20
	// maxFile is the default size from which on a file is followed by the next, in bytes.
	maxFile = 256 << 20
	// maxOpen is the number of files kept open for reading: 64 GiB of data. A million ledgers of 90
	// transactions make about 400 files, and the limit of a process is often 1,024.
	maxOpen = 256
)

var (
	// ErrDamaged means that bytes differ from the written ones.
	ErrDamaged = errors.New("damaged")
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("the files are closed")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Options configure Open. Its zero values are the documented defaults.
type Options struct {
	FS      vfs.FS // nil: the disk's
	MaxFile int64  // size from which on a file is followed by the next, in bytes; 0: 256 MiB
}

// Ref is a record's place.
type Ref struct {
	File   uint32
	Offset uint32 // of its frame
	Size   uint32 // of the record, in bytes
}

// End is the position after a record.
func (r Ref) End() Position {
	return Position{r.File, int64(r.Offset) + HeaderSize + int64(r.Size)}
}

// Position is a place between two records.
type Position struct {
	File   uint32
	Offset int64
}

// Before says whether p comes before q.
func (p Position) Before(q Position) bool {
	return p.File < q.File || p.File == q.File && p.Offset < q.Offset
}

// File describes one of the files.
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
	last   uint32           // guarded by mu: the highest number so far
	now    *file            // guarded by mu: the file to append to; nil: none yet
	write  vfs.File         // guarded by mu: the handle of now
	loose  []vfs.File       // guarded by mu: full files that are not synced yet
	open   []*file          // guarded by mu: open for reading, the most recently used last

	syncing sync.Mutex // held during a Sync
}

type file struct {
	File
	nonce [nonceSize]byte
	read  vfs.File // nil: not open for reading; guarded by Files.mu
	users int      // current readers; guarded by Files.mu
}

// Open opens the files of a folder. A missing folder is made with the first record.
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
			return nil, fmt.Errorf("%s has two files with number %d; remove one", dir, one.Number)
		}
		one.Size = info.Size()
		f.list[one.Number] = one
		f.last = max(f.last, one.Number)
	}
	return f, nil
}

const nameFormat = "%06d-%016x.pack"

// parse reads a file's name. It returns false for other files.
func (f *file) parse(name string) bool {
	var nonce uint64
	if n, err := fmt.Sscanf(name, nameFormat, &f.Number, &nonce); n != 2 || err != nil || fmt.Sprintf(nameFormat, f.Number, nonce) != name {
		return false
	}
	binary.BigEndian.PutUint64(f.nonce[:], nonce)
	return f.Number > 0
}

func (f *Files) path(name string) string { return f.fs.PathJoin(f.dir, name) }

// List returns the files from a number on, in order.
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

// End is the position after the last record.
func (f *Files) End() Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == 0 || f.list[f.last] == nil {
		return Position{File: f.last}
	}
	return Position{f.last, f.list[f.last].Size}
}

// Begin appends room for a frame's header; the caller appends the record, for Append.
func Begin(b []byte) []byte { return append(b, make([]byte, HeaderSize)...) }

// Append writes a record that begins with Begin. The record survives the death of the process, and
// after the next Sync a power cut. After an error it is not there, and the next one goes to another
// file.
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
		f.put(f.write) // the next Sync must sync the earlier records of this file
		f.now, f.write = nil, nil
		return Ref{}, err
	}
	ref := Ref{f.now.Number, uint32(f.now.Size), uint32(len(record))}
	f.now.Size += int64(len(frame))
	return ref, nil
}

func checksum(frame []byte) uint32 {
	sum := crc32.Update(0, castagnoli, frame[nonceSize:nonceSize+4])
	return crc32.Update(sum, castagnoli, frame[HeaderSize:])
}

// put keeps a full file until it is synced.
func (f *Files) put(full vfs.File) { f.loose = append(f.loose, full) }

// begin creates the next file. The caller holds mu.
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
	f.last = next.Number // even if this fails: no other file gets this number
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

// Sync makes all earlier records durable. After an error it is unknown which are.
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

// Read reads a record into the memory of a slice, or new memory, and checks it. ErrDamaged: its
// bytes differ from the written ones.
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

// whole says whether bytes are exactly one frame.
func (f *file) whole(frame []byte) bool {
	return [nonceSize]byte(frame) == f.nonce && int(binary.BigEndian.Uint32(frame[nonceSize:])) == len(frame)-HeaderSize &&
		binary.BigEndian.Uint32(frame[nonceSize+4:]) == checksum(frame)
}

// Remove removes a file with its records. It must not be the one that is appended to.
func (f *Files) Remove(number uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.list[number]
	if one == nil || one == f.now {
		return fmt.Errorf("file %d of %s does not exist, or is being written", number, f.dir)
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

// Close syncs and closes the files. A second Close has no effect.
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
