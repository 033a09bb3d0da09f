package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/flat"
	"dyno/services/ledger/store/record"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// The first byte of a key is its kind.
const (
	Ledgers      = 'l'
	Hashes       = 'h'
	Transactions = 't'
	Accounts     = 'a'
	packs        = 'p'
	marks        = 'u'
	damages      = 'd'
)

// MetaKey is the key of something that the store says about itself.
func MetaKey(name string) []byte { return []byte("m/" + name) }

func number(kind byte, n uint32) []byte { return binary.BigEndian.AppendUint32([]byte{kind}, n) }

func hashed(kind byte, h xrpl.Hash) []byte { return append([]byte{kind}, h[:]...) }

func accountKey(account xrpl.AccountID, index uint32) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{Accounts}, account[:]...), index)
}

// Place is a transaction's ledger, and its position among the ledger's transactions, from 0.
type Place struct {
	Index    uint32
	Position int
}

func appendPlace(b []byte, p Place) []byte {
	return binary.AppendUvarint(binary.BigEndian.AppendUint32(b, p.Index), uint64(p.Position))
}

func parsePlace(b []byte) (Place, error) {
	if len(b) > 4 {
		if position, n := binary.Uvarint(b[4:]); n == len(b)-4 && position < xrpl.MaxTransactions {
			return Place{binary.BigEndian.Uint32(b), int(position)}, nil
		}
	}
	return Place{}, fmt.Errorf("the index of transactions is damaged: %x is no place", b)
}

// SetLedger puts a ledger and its header into a batch.
func SetLedger(b *pebble.Batch, e record.Entry, header []byte) error {
	op := b.SetDeferred(5, len(e.Hash)+len(header)+record.RefSize)
	op.Key[0] = Ledgers
	binary.BigEndian.PutUint32(op.Key[1:], e.Index)
	record.AppendRef(append(append(op.Value[:0], e.Hash[:]...), header...), e.Ref)
	return op.Finish()
}

// Ledger finds a ledger and its header by its number.
func (d *DB) Ledger(index uint32) (e record.Entry, header []byte, err error) {
	value, err := d.Get(number(Ledgers, index))
	if err == nil && len(value) != len(e.Hash)+xrpl.HeaderSize+record.RefSize {
		err = fmt.Errorf("%w: its place in the index has %d bytes", flat.ErrDamaged, len(value))
	}
	if err != nil {
		return e, nil, err
	}
	header = value[len(e.Hash) : len(e.Hash)+xrpl.HeaderSize]
	return record.Entry{Index: index, Hash: xrpl.Hash(value), Ref: record.ParseRef(value[len(value)-record.RefSize:])}, header, nil
}

// ByHash finds a ledger's number by its hash.
func (d *DB) ByHash(h xrpl.Hash) (index uint32, err error) {
	value, err := d.Get(hashed(Hashes, h))
	if err == nil && len(value) != 4 {
		err = errors.New("the index of hashes is damaged")
	}
	if err != nil {
		return 0, fmt.Errorf("ledger %v: %w", h, err)
	}
	return binary.BigEndian.Uint32(value), nil
}

// Transaction finds a transaction by its id.
func (d *DB) Transaction(id xrpl.Hash) (Place, error) {
	value, err := d.Get(hashed(Transactions, id))
	if err != nil {
		return Place{}, fmt.Errorf("transaction %v: %w", id, err)
	}
	return parsePlace(value)
}

// Scratch is memory that Add uses again. Its zero value is ready.
type Scratch struct {
	places    []placed // of the whole batch's transactions
	touches   []touch
	distances []byte
}

type placed struct {
	id xrpl.Hash
	Place
}

// Add puts a ledger's hash, transactions and, on request, accounts into a batch; it sets IDs that
// are not set yet. SetTransactions must follow the batch's last ledger.
func (m *Scratch) Add(b *pebble.Batch, l *xrpl.Ledger, hash xrpl.Hash, accounts bool) error {
	op := b.SetDeferred(1+len(hash), 4)
	op.Key[0] = Hashes
	copy(op.Key[1:], hash[:])
	binary.BigEndian.PutUint32(op.Value, l.Index)
	if err := op.Finish(); err != nil {
		return err
	}
	for i := range l.Transactions {
		tx := &l.Transactions[i]
		if tx.ID.IsZero() {
			tx.ID = xrpl.TransactionID(tx.Blob)
		}
		m.places = append(m.places, placed{tx.ID, Place{l.Index, i}})
	}
	if !accounts {
		return nil
	}
	return m.AddAccounts(b, l)
}

// SetTransactions puts the transactions of all added ledgers into a batch. It sorts them first:
// pebble's memory table finds the place of a key from that of the one before.
func (m *Scratch) SetTransactions(b *pebble.Batch) error {
	slices.SortFunc(m.places, func(a, b placed) int { return bytes.Compare(a.id[:], b.id[:]) })
	var value [4 + binary.MaxVarintLen64]byte
	for i := range m.places {
		p := &m.places[i]
		v := appendPlace(value[:0], p.Place)
		op := b.SetDeferred(1+len(p.id), len(v))
		op.Key[0] = Transactions
		copy(op.Key[1:], p.id[:])
		copy(op.Value, v)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	m.Reset()
	return nil
}

// Reset forgets the added ledgers.
func (m *Scratch) Reset() { m.places = m.places[:0] }

// SetPack puts a pack's size into a batch.
func SetPack(b *pebble.Batch, pack uint32, size int64) error {
	return b.Set(number(packs, pack), binary.BigEndian.AppendUint64(nil, uint64(size)), nil)
}

// EachPack visits the packs and their minimum sizes.
func (d *DB) EachPack(visit func(pack uint32, size int64) error) error {
	return d.Each(packs, func(key, value []byte) error {
		if len(key) != 5 || len(value) != 8 {
			return errors.New("the index is damaged: the size of a pack is missing" + RepairHint)
		}
		return visit(binary.BigEndian.Uint32(key[1:]), int64(binary.BigEndian.Uint64(value)))
	})
}

// SetMark puts into a batch why a ledger fails verification at L4.
func SetMark(b *pebble.Batch, index uint32, reason string) error {
	return b.Set(number(marks, index), []byte(reason), nil)
}

// DeleteMarks puts into a batch that a range's ledgers have no marks.
func DeleteMarks(b *pebble.Batch, r history.Range) error {
	return b.DeleteRange(number(marks, r.From), append(number(marks, r.To), 0), nil)
}

// EachMark visits the marks of a range.
func (d *DB) EachMark(r history.Range, visit func(index uint32, reason string)) error {
	keys := &pebble.IterOptions{LowerBound: number(marks, r.From), UpperBound: append(number(marks, r.To), 0)}
	var damaged error
	err := d.each(keys, false, func(key, value []byte) error {
		if len(key) == 1+4 {
			visit(binary.BigEndian.Uint32(key[1:]), string(value))
		} else {
			damaged = fmt.Errorf("the mark %x is damaged", key)
		}
		return nil
	})
	return errors.Join(damaged, err)
}

func damageKey(d flat.Damage) []byte {
	return binary.BigEndian.AppendUint64(number(damages, d.File.Number), uint64(d.From))
}

// SetDamage puts damage of a pack into a batch; repaired: it is in the quarantine.
func SetDamage(b *pebble.Batch, damage flat.Damage, repaired bool) error {
	value := binary.BigEndian.AppendUint64(nil, uint64(damage.To))
	if repaired {
		value = append(value, 1)
	}
	return b.Set(damageKey(damage), value, nil)
}

// HasDamage reports whether damage is known already.
func (d *DB) HasDamage(damage flat.Damage) (bool, error) {
	_, err := d.Get(damageKey(damage))
	if errors.Is(err, ErrMissing) {
		return false, nil
	}
	return true, err
}

// EachDamage visits the damage that is not repaired, as text.
func (d *DB) EachDamage(visit func(what string)) error {
	return d.Each(damages, func(key, value []byte) error {
		switch {
		case len(key) == 1+4+8 && len(value) == 8+1: // repaired
		case len(key) == 1+4+8 && len(value) == 8:
			visit(fmt.Sprintf("bytes %d to %d of pack %d are no records: the ledgers or marks that they held are lost%s",
				binary.BigEndian.Uint64(key[5:]), binary.BigEndian.Uint64(value), binary.BigEndian.Uint32(key[1:]), RepairHint))
		default:
			visit(fmt.Sprintf("the note %x of damage is itself damaged%s", key, RepairHint))
		}
		return nil
	})
}

// Count is the number of keys of a kind.
func (d *DB) Count(ctx context.Context, kind byte) (n int, err error) {
	err = d.Each(kind, func(_, _ []byte) error {
		if n++; n%10_000 == 0 {
			return ctx.Err()
		}
		return nil
	})
	return n, err
}
