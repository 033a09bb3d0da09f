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
	Server string    `json:"server"` // without secrets
	Index  uint32    `json:"ledger_index"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`

	// Ledger is what the server answered. It is kept as a JSON answer: see Answer.
	Ledger xrpl.Ledger `json:"-"`

	// The store fills these in.
	Sequence uint64 `json:"sequence"` // from 1
	Size     int    `json:"size"`     // of the answer, bytes
	Kept     int    `json:"kept"`     // of these, from the first on: less where an answer is larger than 8 MiB
	Stored   int    `json:"stored"`   // what it takes in the store, compressed, bytes
}

// Evidence is bounded, the oldest goes first: it is for people, who look at some of it. A file of it goes when all in it
// are too many.
const (
	maxEvidence      = 1000
	maxEvidenceBytes = 64 << 20 // as stored
	maxEvidenceFile  = 8 << 20
	maxAnswer        = 8 << 20 // of one answer as JSON; a modern ledger's is some 200 KB, a large one's 2 MB
)

// shelf is the evidence that there is, without the answers. A record of its files is: size of what follows (varint),
// Evidence as JSON, the answer as JSON in zstd.
type shelf struct {
	*flat.Files
	mu    sync.Mutex
	items []shelved // oldest first
	bytes int       // as stored
}

// shelved is a wrong answer, and where it is.
type shelved struct {
	Evidence
	ref flat.Ref
}

// openShelf reads what evidence there is.
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

// cutEvidence takes a record apart.
func cutEvidence(record []byte) (about Evidence, answer []byte, err error) {
	size, n := binary.Uvarint(record)
	if n <= 0 || size > uint64(len(record)-n) {
		return about, nil, flat.ErrDamaged
	}
	err = json.Unmarshal(record[n:n+int(size)], &about)
	return about, record[n+int(size):], err
}

// trim lets go of the oldest where there are too many, and answers with the files that nothing is left in. It is called
// with mu held, or before anybody else has the shelf.
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

// Evidence keeps a wrong answer and lets go of the oldest ones where there are too many. It survives the death of the
// process, and with the next batch of ledgers, or after Close, a power cut.
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
	compressed := s.encoder.EncodeAll(answer, nil) // which several may do concurrently
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

// Wrong lists what evidence there is, oldest first, without the answers.
func (s *Store) Wrong() []Evidence {
	s.evidence.mu.Lock()
	defer s.evidence.mu.Unlock()
	out := make([]Evidence, len(s.evidence.items))
	for i := range out {
		out[i] = s.evidence.items[i].Evidence
	}
	return out
}

// Answer is the wrong answer of a sequence number as JSON, which ledgersync verify reads. ErrMissing: there is none, or no more.
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
