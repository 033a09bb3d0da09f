package journal

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"

	"dyno/services/notify/subscription"
)

// letter is the journal's index entry of a dead letter, guarded by its ledger's lock, except where
// its record is: the log sets that when it has written it, and takes no lock.
type letter struct {
	subscription.DeadLetter
	where     atomic.Uint64          // the number of the last event that holds the record; 0 means none
	unwritten atomic.Pointer[[]byte] // the record, until an event with it is written
}

// written is what the log calls back.
func (d *letter) written(number uint64) {
	d.where.Store(number)
	d.unwritten.Store(nil)
}

// view is the letter as callers see it.
func (d *letter) view() subscription.DeadLetter {
	l := d.DeadLetter
	l.Where = d.where.Load()
	return l
}

// letterIndex is the letters of one subscription, by number.
type letterIndex struct {
	letters []*letter
	bytes   int64 // of their records
}

func (s *letterIndex) index(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(s.letters, seq, func(d *letter, seq uint64) int { return cmp.Compare(d.Seq, seq) })
}

// find returns nil for one that is not there.
func (s *letterIndex) find(seq uint64) *letter {
	if i, ok := s.index(seq); ok {
		return s.letters[i]
	}
	return nil
}

func (s *letterIndex) add(d *letter) {
	i, _ := s.index(d.Seq)
	s.letters = slices.Insert(s.letters, i, d)
	s.bytes += int64(d.Size)
}

func (s *letterIndex) remove(seq uint64) {
	if i, ok := s.index(seq); ok {
		s.bytes -= int64(s.letters[i].Size)
		s.letters = slices.Delete(s.letters, i, i+1)
	}
}

// fill takes over what a fold found, except letters whose record was damaged, and returns how many
// these are.
func (s *letterIndex) fill(found map[uint64]subscription.DeadLetter) (lost int64) {
	for _, seq := range slices.Sorted(maps.Keys(found)) {
		d := &letter{DeadLetter: found[seq]}
		if d.Where == 0 {
			lost++
			continue
		}
		d.where.Store(d.Where)
		d.Where = 0
		s.add(d)
	}
	return lost
}

// surplus is the oldest letters that must go so that at most count and bytes stay. Those that are
// replayed stay.
func (s *letterIndex) surplus(count, bytes int64) (seqs []uint64) {
	n, size := int64(len(s.letters)), s.bytes
	for _, d := range s.letters {
		if n <= count && size <= bytes {
			break
		}
		if !d.Replaying {
			seqs = append(seqs, d.Seq)
			n--
			size -= int64(d.Size)
		}
	}
	return seqs
}
