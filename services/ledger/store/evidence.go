package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
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

// Evidence is bounded, the oldest goes first: it is for people, who look at some of it.
const (
	maxEvidence      = 1000
	maxEvidenceBytes = 64 << 20 // as stored
	maxAnswer        = 8 << 20  // of one answer as JSON; a modern ledger's is some 200 KB, a large one's 2 MB
)

// shelf is the evidence that there is, without the answers.
type shelf struct {
	sync.Mutex
	items []Evidence // oldest first
	bytes int        // as stored
}

// openShelf reads what evidence there is.
func (s *Store) openShelf() error {
	it, err := s.db.NewIter(bounds(kindEvidence))
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		var e Evidence
		if err = json.Unmarshal(it.Value(), &e); err == nil {
			s.shelf.items = append(s.shelf.items, e)
			s.shelf.bytes += e.Stored
		}
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil {
		return fmt.Errorf("the evidence of wrong answers: %w", err)
	}
	return nil
}

// Evidence keeps a wrong answer and lets go of the oldest ones where there are too many. It is durable with the next
// batch of ledgers, or after Close.
func (s *Store) Evidence(e Evidence) error {
	s.open.RLock()
	defer s.open.RUnlock()
	switch {
	case s.closed:
		return ErrClosed
	case !s.writable:
		return errReadOnly
	}
	answer := AppendAnswer(nil, &e.Ledger)
	e.Size, e.Kept, e.Ledger = len(answer), min(len(answer), maxAnswer), xrpl.Ledger{}
	answer = s.encoder.EncodeAll(answer[:e.Kept], nil)
	e.Stored = len(answer)

	s.shelf.Lock()
	defer s.shelf.Unlock()
	e.Sequence = 1
	if n := len(s.shelf.items); n > 0 {
		e.Sequence = s.shelf.items[n-1].Sequence + 1
	}
	about, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := s.room(len(answer)); err != nil {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	if err := errors.Join(b.Set(evidenceKey(kindEvidence, e.Sequence), about, nil), b.Set(evidenceKey(kindAnswer, e.Sequence), answer, nil)); err != nil {
		return err
	}
	items, bytes := append(s.shelf.items, e), s.shelf.bytes+e.Stored
	for len(items) > maxEvidence || bytes > maxEvidenceBytes {
		oldest := items[0].Sequence
		if err := errors.Join(b.Delete(evidenceKey(kindEvidence, oldest), nil), b.Delete(evidenceKey(kindAnswer, oldest), nil)); err != nil {
			return err
		}
		bytes -= items[0].Stored
		items = items[1:]
	}
	if err := s.guard(func() error { return b.Commit(pebble.NoSync) }); err != nil {
		return err
	}
	s.shelf.items, s.shelf.bytes = items, bytes
	return nil
}

// Wrong lists what evidence there is, oldest first, without the answers.
func (s *Store) Wrong() []Evidence {
	s.shelf.Lock()
	defer s.shelf.Unlock()
	return append([]Evidence(nil), s.shelf.items...)
}

// Answer is the wrong answer of a sequence number as JSON, which ledgersync verify reads. ErrMissing: there is none, or no more.
func (s *Store) Answer(sequence uint64) ([]byte, error) {
	value, err := s.get(evidenceKey(kindAnswer, sequence))
	if err == nil {
		value, err = s.decoder.DecodeAll(value, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("wrong answer %d: %w", sequence, err)
	}
	return value, nil
}

func evidenceKey(kind byte, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind}, sequence)
}
