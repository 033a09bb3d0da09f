package store

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
)

// WrongAnswer is a wrong answer of a server.
type WrongAnswer struct {
	Server string    `json:"server"` // name without secrets
	Index  uint32    `json:"ledger_index"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`

	// Ledger is the server's answer. It is kept as a JSON answer: see Shelf.Answer.
	Ledger xrpl.Ledger `json:"-"`

	// The shelf fills these in.
	Sequence uint64 `json:"sequence"` // from 1
	Size     int    `json:"size"`     // bytes of the answer
	// Bytes of the answer that are kept, from the first on: fewer if it is larger than 8 MiB.
	Kept   int `json:"kept"`
	Stored int `json:"stored"` // bytes in the file, compressed
}

// Evidence is bounded, and the oldest is removed first. A file is removed when all of its answers
// are too old.
const (
	maxAnswers = 1000
	maxBytes   = 64 << 20 // as stored
	maxFile    = 8 << 20
	// Of one answer as JSON; a modern ledger's is about 200 KB, a large one's 2 MB.
	maxAnswer = 8 << 20
)

var (
	// ErrNotKept means that there is no such answer, or that it was removed.
	ErrNotKept       = errors.New("not kept")
	errShelfReadOnly = errors.New("the evidence was opened for reading only")
)

// shelfOptions configure openShelf.
type shelfOptions struct {
	FS       vfs.FS
	Codec    *record.Codec        // compresses; the caller closes it after the shelf
	Room     func(size int) error // refuses an answer for which the disk has too little room
	ReadOnly bool
}

// Shelf is the kept answers. Its methods may be called from many goroutines.
//
// A record of its files is: size of the next part (varint), WrongAnswer as JSON, the answer as
// JSON in zstd.
type Shelf struct {
	files *flat.Files
	o     shelfOptions
	mu    sync.Mutex
	items []shelved // guarded by mu: oldest first
	bytes int       // guarded by mu: as stored
}

type shelved struct {
	WrongAnswer
	ref flat.Ref
}

// openShelf opens the shelf in a folder.
func openShelf(dir string, o shelfOptions) (*Shelf, error) {
	files, err := flat.Open(dir, flat.Options{FS: o.FS, MaxFile: maxFile})
	if err != nil {
		return nil, fmt.Errorf("the evidence of wrong answers: %w", err)
	}
	s := &Shelf{files: files, o: o}
	err = files.Scan(flat.Position{}, func(ref flat.Ref, b []byte) error {
		if about, text, err := cutAnswer(b); err == nil {
			about.Stored = len(text)
			s.items = append(s.items, shelved{about, ref})
			s.bytes += about.Stored
		}
		return nil
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("the evidence of wrong answers: %w", errors.Join(err, files.Close()))
	}
	s.trim()
	return s, nil
}

func cutAnswer(b []byte) (about WrongAnswer, text []byte, err error) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return about, nil, flat.ErrDamaged
	}
	err = json.Unmarshal(b[n:n+int(size)], &about)
	return about, b[n+int(size):], err
}

// trim removes the oldest answers above the limits, and returns the files that are empty then. The
// caller holds mu, or is the only user.
func (s *Shelf) trim() (empty []uint32) {
	for len(s.items) > maxAnswers || s.bytes > maxBytes && len(s.items) > 1 {
		oldest := s.items[0]
		s.bytes -= oldest.Stored
		if s.items = s.items[1:]; len(s.items) > 0 && s.items[0].ref.File != oldest.ref.File {
			empty = append(empty, oldest.ref.File)
		}
	}
	return empty
}

// Keep stores a wrong answer and removes the oldest ones above the limits. The answer survives the
// death of the process, and after the next sync a power cut.
func (s *Shelf) Keep(w WrongAnswer) error {
	text := answer.AppendLine(make([]byte, 0, 1024+2*record.Size(&w.Ledger)+32*len(w.Ledger.Transactions)), &w.Ledger)
	w.Size, w.Kept, w.Ledger = len(text), min(len(text), maxAnswer), xrpl.Ledger{}
	return s.KeepText(w, text[:w.Kept])
}

// KeepText is Keep for an answer whose text exists already.
func (s *Shelf) KeepText(w WrongAnswer, text []byte) error {
	if s.o.ReadOnly {
		return errShelfReadOnly
	}
	compressed := s.o.Codec.Zstd(text) // may run concurrently
	w.Stored = len(compressed)
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Sequence = 1
	if n := len(s.items); n > 0 {
		w.Sequence = s.items[n-1].Sequence + 1
	}
	about, err := json.Marshal(w)
	if err != nil {
		return err
	}
	frame := binary.AppendUvarint(flat.Begin(nil), uint64(len(about)))
	frame = append(append(frame, about...), compressed...)
	if err := s.o.Room(len(frame)); err != nil {
		return err
	}
	ref, err := s.files.Append(frame)
	if err != nil {
		return fmt.Errorf("keeping a wrong answer: %w", err)
	}
	s.items = append(s.items, shelved{w, ref})
	s.bytes += w.Stored
	for _, number := range s.trim() {
		err = errors.Join(err, s.files.Remove(number))
	}
	return err
}

// All lists the kept answers, oldest first, without their text.
func (s *Shelf) All() []WrongAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]WrongAnswer, len(s.items))
	for i := range out {
		out[i] = s.items[i].WrongAnswer
	}
	return out
}

// Answer is the wrong answer of a sequence number as JSON, which ledgersync verify reads.
func (s *Shelf) Answer(sequence uint64) ([]byte, error) {
	s.mu.Lock()
	items := s.items
	s.mu.Unlock()
	i, found := slices.BinarySearchFunc(items, sequence, func(x shelved, n uint64) int { return cmp.Compare(x.Sequence, n) })
	if !found {
		return nil, fmt.Errorf("wrong answer %d: %w", sequence, ErrNotKept)
	}
	b, err := s.files.Read(items[i].ref, nil)
	if err == nil {
		_, b, err = cutAnswer(b)
	}
	if err == nil {
		b, err = s.o.Codec.Unzstd(b)
	}
	if err != nil {
		return nil, fmt.Errorf("wrong answer %d: %w", sequence, err)
	}
	return b, nil
}

// sync makes the kept answers durable.
func (s *Shelf) sync() error { return s.files.Sync() }

// close syncs and closes the files.
func (s *Shelf) close() error { return s.files.Close() }
