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

	"dyno/parts/xrpl"
	"dyno/services/ledger/store/flat"
)

// Evidence is a wrong answer.
type Evidence struct {
	Server string    `json:"server"` // name without secrets
	Index  uint32    `json:"ledger_index"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`

	// Ledger is the server's answer. It is kept as a JSON answer: see Answer.
	Ledger xrpl.Ledger `json:"-"`

	// The store fills these in.
	Sequence uint64 `json:"sequence"` // from 1
	Size     int    `json:"size"`     // bytes of the answer
	// Bytes of the answer that are kept, from the first on: fewer if it is larger than 8 MiB.
	Kept   int `json:"kept"`
	Stored int `json:"stored"` // bytes in the store, compressed
}

// Evidence is bounded, and the oldest is removed first: people look at some of it. A file is
// removed when all of its answers are too old.
const (
	maxEvidence      = 1000
	maxEvidenceBytes = 64 << 20 // as stored
	maxEvidenceFile  = 8 << 20
	// Of one answer as JSON; a modern ledger's is about 200 KB, a large one's 2 MB.
	maxAnswer = 8 << 20
)

// shelf is the stored evidence, without the answers. A record of its files is: size of the next
// part (varint), Evidence as JSON, the answer as JSON in zstd.
type shelf struct {
	*flat.Files
	mu    sync.Mutex
	items []shelved // oldest first
	bytes int       // as stored
}

type shelved struct {
	Evidence
	ref flat.Ref
}

func (s *Store) openShelf(data string) (err error) {
	s.evidence.Files, err = flat.Open(s.fs.PathJoin(data, evidenceFolder), flat.Options{FS: s.fs, MaxFile: maxEvidenceFile})
	if err == nil {
		err = s.evidence.Scan(flat.Position{}, func(ref flat.Ref, record []byte) error {
			if about, answer, err := cutEvidence(record); err == nil {
				about.Stored = len(answer)
				s.evidence.items = append(s.evidence.items, shelved{about, ref})
				s.evidence.bytes += about.Stored
			}
			return nil
		}, nil)
	}
	if err != nil {
		return fmt.Errorf("the evidence of wrong answers: %w", err)
	}
	s.evidence.trim()
	return nil
}

func cutEvidence(record []byte) (about Evidence, answer []byte, err error) {
	size, n := binary.Uvarint(record)
	if n <= 0 || size > uint64(len(record)-n) {
		return about, nil, flat.ErrDamaged
	}
	err = json.Unmarshal(record[n:n+int(size)], &about)
	return about, record[n+int(size):], err
}

// trim removes the oldest evidence above the limits, and returns the files that are empty then. The
// caller holds mu, or is the only user.
func (f *shelf) trim() (empty []uint32) {
	for len(f.items) > maxEvidence || f.bytes > maxEvidenceBytes && len(f.items) > 1 {
		oldest := f.items[0]
		f.bytes -= oldest.Stored
		if f.items = f.items[1:]; len(f.items) > 0 && f.items[0].ref.File != oldest.ref.File {
			empty = append(empty, oldest.ref.File)
		}
	}
	return empty
}

// Evidence stores a wrong answer and removes the oldest ones above the limits. The answer survives
// the death of the process, and with the next batch of ledgers, or after Close, a power cut.
func (s *Store) Evidence(e Evidence) error {
	answer := AppendAnswer(make([]byte, 0, 1024+2*bodySize(&e.Ledger)+32*len(e.Ledger.Transactions)), &e.Ledger)
	e.Size, e.Kept, e.Ledger = len(answer), min(len(answer), maxAnswer), xrpl.Ledger{}
	return s.shelve(e, answer[:e.Kept])
}

func (s *Store) shelve(e Evidence, answer []byte) error {
	s.open.RLock()
	defer s.open.RUnlock()
	switch {
	case s.closed:
		return ErrClosed
	case !s.writable:
		return errReadOnly
	}
	compressed := s.encoder.EncodeAll(answer, nil) // may run concurrently
	e.Stored = len(compressed)
	f := &s.evidence
	f.mu.Lock()
	defer f.mu.Unlock()
	e.Sequence = 1
	if n := len(f.items); n > 0 {
		e.Sequence = f.items[n-1].Sequence + 1
	}
	about, err := json.Marshal(e)
	if err != nil {
		return err
	}
	frame := binary.AppendUvarint(flat.Begin(nil), uint64(len(about)))
	frame = append(append(frame, about...), compressed...)
	if err := s.room(len(frame)); err != nil {
		return err
	}
	ref, err := f.Append(frame)
	if err != nil {
		return fmt.Errorf("keeping a wrong answer: %w", err)
	}
	f.items = append(f.items, shelved{e, ref})
	f.bytes += e.Stored
	for _, number := range f.trim() {
		err = errors.Join(err, f.Remove(number))
	}
	return err
}

// Wrong lists the stored evidence, oldest first, without the answers.
func (s *Store) Wrong() []Evidence {
	s.evidence.mu.Lock()
	defer s.evidence.mu.Unlock()
	out := make([]Evidence, len(s.evidence.items))
	for i := range out {
		out[i] = s.evidence.items[i].Evidence
	}
	return out
}

// Answer is the wrong answer of a sequence number as JSON, which ledgersync verify reads.
// ErrMissing: there is none, or it was removed.
func (s *Store) Answer(sequence uint64) ([]byte, error) {
	s.evidence.mu.Lock()
	items := s.evidence.items
	s.evidence.mu.Unlock()
	i, found := slices.BinarySearchFunc(items, sequence, func(x shelved, n uint64) int { return cmp.Compare(x.Sequence, n) })
	if !found {
		return nil, fmt.Errorf("wrong answer %d: %w", sequence, ErrMissing)
	}
	record, err := s.evidence.Read(items[i].ref, nil)
	if err == nil {
		_, record, err = cutEvidence(record)
	}
	if err == nil {
		record, err = s.decoder.DecodeAll(record, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("wrong answer %d: %w", sequence, err)
	}
	return record, nil
}
