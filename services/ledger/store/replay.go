package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/store/flat"
)

// setState puts into a batch the set of stored ledgers, the progress, the sizes of the packs, and
// the position from which they must be read when they end at end. The caller holds apply.
func (s *Store) setState(b *pebble.Batch, st *state, end flat.Position) error {
	text, err := json.Marshal(st.progress)
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	err = errors.Join(b.Set(metaKey("stored"), []byte(st.stored.String()), nil), b.Set(metaKey("progress"), text, nil), s.setOnOff(b), setLacking(b, st.lacking))
	for _, pack := range s.packs.List(s.full + 1) {
		size := pack.Size
		switch {
		case pack.Number > end.File:
			continue
		case pack.Number == end.File:
			size = end.Offset
		default:
			s.full = pack.Number
		}
		err = errors.Join(err, b.Set(packKey(pack.Number), binary.BigEndian.AppendUint64(nil, uint64(size)), nil))
	}
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	from := s.received.position(end)
	where := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, from.File), uint64(from.Offset))
	return errors.Join(err, b.Set(metaKey("read"), where, nil))
}

// complete checks that all packs that the index knows exist with their sizes.
func (s *Store) complete() error {
	sizes := map[uint32]int64{}
	for _, pack := range s.packs.List(0) {
		sizes[pack.Number] = pack.Size
	}
	it, err := s.index.NewIter(bounds(kindPack))
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		if len(it.Key()) != 5 || len(it.Value()) != 8 {
			err = fmt.Errorf("the index is damaged: the size of a pack is missing%s", repairHint)
			break
		}
		number, size := binary.BigEndian.Uint32(it.Key()[1:]), int64(binary.BigEndian.Uint64(it.Value()))
		switch has, there := sizes[number]; {
		case !there:
			err = fmt.Errorf("pack %d is missing, of %d bytes, so that ledgers are missing%s", number, size, repairHint)
		case has < size:
			err = fmt.Errorf("pack %d has %d bytes of %d, so that ledgers are missing%s", number, has, size, repairHint)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

var errEnough = errors.New("enough")

// said returns what the first record of proved ledgers says, if there is one.
func (s *Store) said() (about proved, found bool, err error) {
	err = s.packs.Scan(flat.Position{}, func(_ flat.Ref, record []byte) error {
		if len(record) > 0 && record[0] == recordProved {
			if about, _, err = parseProved(record); err == nil {
				found = true
				return errEnough
			}
		}
		return nil
	}, nil)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return about, found, err
}

// replay reads packs for entries that the index lacks.
type replay struct {
	*Store
	prove *xrpl.Verifier // nil: ledgers that were proved are not proved again
	batch *pebble.Batch
	mem   scratch
	next  state
}

// replayed is the maximum size of a batch of index entries while the packs are read, in bytes.
const replayed = 1 << 20

// replay reads what the packs hold beyond the index: it indexes proved ledgers, and records waiting
// answers, and damage for Check. If the store must not be written, the entries stay in memory.
func (s *Store) replay(prove bool) error {
	from, err := s.readFrom()
	if err != nil {
		return err
	}
	r := &replay{Store: s, next: *s.durable.Load(), batch: s.db.NewIndexedBatch()}
	if prove {
		r.prove = xrpl.NewVerifier()
	}
	end := s.packs.End()
	changed := false
	err = s.packs.Scan(from, func(ref flat.Ref, record []byte) error {
		if len(record) == 0 {
			return nil
		}
		switch record[0] {
		case recordLedger:
			r.ledger(ref, record)
		case recordWrong:
			r.wrong(record)
		case recordProved:
			changed = true
			return r.proved(ref, record)
		case recordNote:
			changed = true
			return r.note(record)
		}
		return nil
	}, func(d flat.Damage) error {
		if d.Torn {
			return nil
		}
		changed = true
		return r.damaged(d)
	})
	if err != nil {
		return err
	}
	if !s.writable {
		if err := r.finish(end); err != nil {
			return err
		}
		s.index = r.batch
		return nil
	}
	if !changed {
		return r.batch.Close()
	}
	return r.flush(end)
}

// readFrom is the position from which the packs must be read.
func (s *Store) readFrom() (flat.Position, error) {
	value, err := s.get(metaKey("read"))
	if errors.Is(err, ErrMissing) {
		return flat.Position{}, nil
	}
	if err == nil && len(value) != 12 {
		err = errors.New("the index is damaged: its read position is missing" + repairHint)
	}
	if err != nil {
		return flat.Position{}, err
	}
	return flat.Position{File: binary.BigEndian.Uint32(value), Offset: int64(binary.BigEndian.Uint64(value[4:]))}, nil
}

// ledger adds a received ledger to those that wait for their proof. One without a server was stored
// directly, and does not wait.
func (r *replay) ledger(ref flat.Ref, record []byte) {
	server, l, err := parseLedger(record)
	if err == nil && !r.next.stored.Has(l.index()) {
		r.received.add(entry{l.index(), l.hash, ref}, server)
	}
}

func (r *replay) wrong(record []byte) {
	if len(record) != 1+refSize {
		return
	}
	ref := parseRef(record[1:])
	for _, one := range r.received.byID {
		if one.entry.ref == ref {
			r.received.remove(one)
			return
		}
	}
}

func (r *replay) proved(ref flat.Ref, record []byte) error {
	about, entries, err := parseProved(record)
	if err != nil {
		return nil
	}
	r.next.progress = about.Progress
	if about.Accounts == "on" && !r.accounts { // from here on
		r.accounts, r.next.lacking = true, r.next.stored
	}
	for _, e := range entries {
		if err := r.index(e); err != nil {
			return err
		}
	}
	if r.writable && r.batch.Len() > replayed {
		return r.flush(ref.End())
	}
	return nil
}

// index indexes a proved ledger. One whose bytes have changed is skipped: it is missing.
func (r *replay) index(e entry) error {
	var l xrpl.Ledger
	if r.next.stored.Has(e.index) || r.read(e, &l) != nil {
		return nil
	}
	if r.prove != nil {
		if _, err := r.prove.Ledger(&l); err != nil {
			return nil
		}
	}
	r.received.settle(e.index)
	r.next.stored = r.next.stored.With(history.Range{From: e.index, To: e.index})
	if err := setEntry(r.batch, e, l.Header); err != nil {
		return err
	}
	return r.addIndexes(r.batch, &l, e.hash, &r.mem)
}

// damaged records damage for Check, unless an earlier repair has copied it to the quarantine.
func (r *replay) damaged(d flat.Damage) error {
	key, value := damageKey(d), binary.BigEndian.AppendUint64(nil, uint64(d.To))
	if r.prove != nil {
		value = append(value, 1)
	} else if _, err := r.get(key); !errors.Is(err, ErrMissing) {
		return err
	}
	return r.batch.Set(key, value, nil)
}

func (r *replay) finish(end flat.Position) error {
	if err := setTransactions(r.batch, r.mem.places); err != nil {
		return err
	}
	r.mem.places = r.mem.places[:0]
	next := r.next
	if err := r.setState(r.batch, &next, end); err != nil {
		return err
	}
	r.durable.Store(&next)
	return nil
}

func (r *replay) flush(end flat.Position) error {
	if err := r.finish(end); err != nil {
		return err
	}
	if err := r.guard(func() error { return r.db.Apply(r.batch, pebble.NoSync) }); err != nil {
		return err
	}
	if err := r.batch.Close(); err != nil {
		return err
	}
	r.batch = r.db.NewIndexedBatch()
	return nil
}
