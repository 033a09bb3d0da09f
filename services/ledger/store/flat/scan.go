package flat

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Damage is a stretch of a file that holds no records.
type Damage struct {
	File     File
	From, To int64 // bytes
	Torn     bool  // left by a crash at a file's end: the beginning of a record, or zeros
}

func (d Damage) String() string {
	return fmt.Sprintf("bytes %d to %d of %s are no records", d.From, d.To, d.File.Name)
}

// Copy copies damaged bytes to a file, unless a whole copy exists. After an error there is none.
func (f *Files) Copy(d Damage, to string) error {
	if info, err := f.fs.Stat(to); err == nil && info.Size() == d.To-d.From {
		return nil
	}
	one, from, err := f.reader(d.File.Number)
	if err != nil {
		return err
	}
	defer f.done(one)
	begun := to + ".tmp"
	out, err := f.fs.Create(begun, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.NewSectionReader(from, d.From, d.To-d.From))
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = f.fs.Rename(begun, to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copying bytes %d to %d of %s: %w", d.From, d.To, d.File.Name, err), f.fs.Remove(begun))
	}
	return f.syncFolder(f.fs.PathDir(to))
}

// Scan visits all records from a position on, in the order of writing; a record is only valid until
// visit returns. It continues after damage, for which it calls damaged, if that is not nil. The
// error is visit's, or that of reading.
func (f *Files) Scan(from Position, visit func(Ref, []byte) error, damaged func(Damage) error) error {
	for _, one := range f.List(from.File) {
		begin := int64(0)
		if one.Number == from.File {
			begin = from.Offset
		}
		if err := f.scan(one, begin, visit, damaged); err != nil {
			return fmt.Errorf("%s: %w", f.path(one.Name), err)
		}
	}
	return nil
}

func (f *Files) scan(is File, at int64, visit func(Ref, []byte) error, damaged func(Damage) error) error {
	one, from, err := f.reader(is.Number)
	if err != nil {
		return err
	}
	defer f.done(one)
	s := scan{file: one, from: from, size: is.Size}
	for at < is.Size {
		record, err := s.record(at)
		if err != nil {
			return err
		}
		if record == nil {
			next, err := s.next(at + 1)
			if err != nil {
				return err
			}
			if damaged != nil {
				if err := damaged(Damage{is, at, next, next == is.Size && s.torn(at)}); err != nil {
					return err
				}
			}
			at = next
			continue
		}
		if err := visit(Ref{is.Number, uint32(at), uint32(len(record))}, record); err != nil {
			return err
		}
		at += HeaderSize + int64(len(record))
	}
	return nil
}

type scan struct {
	*file
	from   vfs.File
	size   int64
	memory []byte
}

// record returns the record whose frame begins at an offset; nil: there is none.
func (s *scan) record(at int64) ([]byte, error) {
	var header [HeaderSize]byte
	if at+HeaderSize > s.size {
		return nil, nil
	}
	if err := s.bytes(header[:], at); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(header[nonceSize:]))
	if [nonceSize]byte(header[:]) != s.nonce || size > MaxRecord || at+HeaderSize+size > s.size {
		return nil, nil
	}
	s.memory = slices.Grow(s.memory[:0], HeaderSize+int(size))[:HeaderSize+int(size)]
	if err := s.bytes(s.memory, at); err != nil {
		return nil, err
	}
	if !s.whole(s.memory) {
		return nil, nil
	}
	return s.memory[HeaderSize:], nil
}

// torn says whether the rest of the file from an offset on is the beginning of a record whose end
// was never written, or unwritten space.
func (s *scan) torn(at int64) bool {
	begin := make([]byte, min(1<<20, s.size-at))
	if s.bytes(begin, at) != nil {
		return false
	}
	if len(begin) < HeaderSize {
		return bytes.HasPrefix(begin, s.nonce[:min(nonceSize, len(begin))]) || zero(begin)
	}
	size := int64(binary.BigEndian.Uint32(begin[nonceSize:]))
	if [nonceSize]byte(begin) == s.nonce {
		return size <= MaxRecord && at+HeaderSize+size > s.size
	}
	return zero(begin) && s.size-at == int64(len(begin))
}

func zero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// next finds the first record from an offset on: its beginning, or the file's end.
func (s *scan) next(at int64) (int64, error) {
	window := make([]byte, min(1<<20, s.size-at))
	for at < s.size {
		part := window[:min(int64(len(window)), s.size-at)]
		if err := s.bytes(part, at); err != nil {
			return 0, err
		}
		for skip := 0; ; {
			i := bytes.Index(part[skip:], s.nonce[:])
			if i < 0 {
				break
			}
			record, err := s.record(at + int64(skip+i))
			if record != nil || err != nil {
				return at + int64(skip+i), err
			}
			skip += i + 1
		}
		if at+int64(len(part)) == s.size {
			break
		}
		at += int64(len(part)) - nonceSize + 1 // a record may begin at the window's end
	}
	return s.size, nil
}

func (s *scan) bytes(into []byte, at int64) error {
	if _, err := s.from.ReadAt(into, at); err != nil && err != io.EOF {
		return err
	}
	return nil
}
