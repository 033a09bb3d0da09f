package store

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// setState puts into a batch the set of stored ledgers, the progress, the sizes of the packs, and
// the position from which they must be read when they end at end. The caller holds apply.
func (s *Store) setState(b *pebble.Batch, st *state, end flat.Position) error {
	text, err := json.Marshal(st.progress)
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	err = errors.Join(b.Set(index.MetaKey("stored"), []byte(st.stored.String()), nil), b.Set(index.MetaKey("progress"), text, nil), s.setOnOff(b), setLacking(b, st.lacking))
	if st.network != nil {
		err = errors.Join(err, b.Set(index.MetaKey("network"), strconv.AppendUint(nil, uint64(*st.network), 10), nil))
	}
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
		err = errors.Join(err, index.SetPack(b, pack.Number, size))
	}
	s.received.mu.Lock()
	defer s.received.mu.Unlock()
	from := s.received.position(end)
	where := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, from.File), uint64(from.Offset))
	return errors.Join(err, b.Set(index.MetaKey("read"), where, nil))
}

// complete checks that all packs that the index knows exist with their sizes.
func (s *Store) complete() error {
	sizes := map[uint32]int64{}
	for _, pack := range s.packs.List(0) {
		sizes[pack.Number] = pack.Size
	}
	return s.index.EachPack(func(number uint32, size int64) error {
		switch has, there := sizes[number]; {
		case !there:
			return fmt.Errorf("pack %d is missing, of %d bytes, so that ledgers are missing%s", number, size, index.RepairHint)
		case has < size:
			return fmt.Errorf("pack %d has %d bytes of %d, so that ledgers are missing%s", number, has, size, index.RepairHint)
		}
		return nil
	})
}

// About is written with proved ledgers: all that a lost index could not be rebuilt without.
type About struct {
	Accounts string   `json:"accounts"`
	Progress Progress `json:"progress"`
	Network  *uint32  `json:"network_id,omitempty"` // nil: not known
}

func parseProved(b []byte) (about About, entries []record.Entry, err error) {
	text, entries, err := record.ParseProved(b)
	if err == nil {
		if err = json.Unmarshal(text, &about); err != nil {
			err = fmt.Errorf("%w: the progress: %w", flat.ErrDamaged, err)
		}
	}
	return about, entries, err
}

var errEnough = errors.New("enough")

// said returns what the first record of proved ledgers says, if there is one.
func (s *Store) said() (about About, found bool, err error) {
	err = s.packs.Scan(flat.Position{}, func(_ flat.Ref, b []byte) error {
		if len(b) > 0 && b[0] == record.KindProved {
			if about, _, err = parseProved(b); err == nil {
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
	mem   index.Scratch
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
	r := &replay{Store: s, next: *s.durable.Load(), batch: s.index.IndexedBatch()}
	if prove {
		r.prove = xrpl.NewVerifier()
	}
	end := s.packs.End()
	changed := false
	err = s.packs.Scan(from, func(ref flat.Ref, b []byte) error {
		if len(b) == 0 {
			return nil
		}
		switch b[0] {
		case record.KindLedger:
			r.ledger(ref, b)
		case record.KindWrong:
			r.wrong(b)
		case record.KindProved:
			changed = true
			return r.proved(ref, b)
		case record.KindNote:
			changed = true
			return r.note(b)
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
		s.index.Overlay(r.batch)
		return nil
	}
	if !changed {
		return r.batch.Close()
	}
	return r.flush(end)
}

// readFrom is the position from which the packs must be read.
func (s *Store) readFrom() (flat.Position, error) {
	value, err := s.meta("read")
	if errors.Is(err, ErrMissing) {
		return flat.Position{}, nil
	}
	if err == nil && len(value) != 12 {
		err = errors.New("the index is damaged: its read position is missing" + index.RepairHint)
	}
	if err != nil {
		return flat.Position{}, err
	}
	return flat.Position{File: binary.BigEndian.Uint32(value), Offset: int64(binary.BigEndian.Uint64(value[4:]))}, nil
}

// ledger adds a received ledger to those that wait for their proof. One without a server was stored
// directly, and does not wait.
func (r *replay) ledger(ref flat.Ref, b []byte) {
	server, l, err := record.ParseLedger(b)
	if err == nil && !r.next.stored.Has(l.Index()) {
		r.received.add(record.Entry{Index: l.Index(), Hash: l.Hash, Ref: ref}, server)
	}
}

func (r *replay) wrong(b []byte) {
	if len(b) != 1+record.RefSize {
		return
	}
	ref := record.ParseRef(b[1:])
	for _, one := range r.received.byID {
		if one.entry.Ref == ref {
			r.received.remove(one)
			return
		}
	}
}

func (r *replay) proved(ref flat.Ref, b []byte) error {
	about, entries, err := parseProved(b)
	if err != nil {
		return nil
	}
	r.next.progress, r.next.network = about.Progress, cmp.Or(about.Network, r.next.network)
	if about.Accounts == "on" && !r.accounts { // from here on
		r.accounts, r.next.lacking = true, r.next.stored
	}
	for _, e := range entries {
		if err := r.add(e); err != nil {
			return err
		}
	}
	if r.writable && r.batch.Len() > replayed {
		return r.flush(ref.End())
	}
	return nil
}

// add indexes a proved ledger. One whose bytes have changed is skipped: it is missing.
func (r *replay) add(e record.Entry) error {
	var l xrpl.Ledger
	if r.next.stored.Has(e.Index) || r.read(e, &l) != nil {
		return nil
	}
	if r.prove != nil {
		if _, err := r.prove.Ledger(&l); err != nil {
			return nil
		}
	}
	r.received.settle(e.Index)
	r.next.stored = r.next.stored.With(history.Range{From: e.Index, To: e.Index})
	if err := index.SetLedger(r.batch, e, l.Header); err != nil {
		return err
	}
	return r.mem.Add(r.batch, &l, e.Hash, r.accounts)
}

// damaged records damage for Check, unless an earlier repair has copied it to the quarantine.
func (r *replay) damaged(d flat.Damage) error {
	if r.prove == nil {
		if known, err := r.index.HasDamage(d); known || err != nil {
			return err
		}
	}
	return index.SetDamage(r.batch, d, r.prove != nil)
}

func (r *replay) finish(end flat.Position) error {
	if err := r.mem.SetTransactions(r.batch); err != nil {
		return err
	}
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
	if err := r.index.Apply(r.batch); err != nil {
		return err
	}
	if err := r.batch.Close(); err != nil {
		return err
	}
	r.batch = r.index.IndexedBatch()
	return nil
}
