package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

type touch struct {
	account  xrpl.AccountID
	position int
}

// touches are the accounts that a ledger's transactions affect, by account and position, once each.
func touches(mem []touch, l *xrpl.Ledger) ([]touch, error) {
	mem = mem[:0]
	for i := range l.Transactions {
		t := &l.Transactions[i]
		err := xrpl.Accounts(t.Meta, func(a xrpl.AccountID) { mem = append(mem, touch{a, i}) })
		if err != nil {
			return mem, fmt.Errorf("the accounts of transaction %d of %d: %w", i+1, len(l.Transactions), err)
		}
	}
	slices.SortFunc(mem, func(a, b touch) int {
		return cmp.Or(bytes.Compare(a.account[:], b.account[:]), cmp.Compare(a.position, b.position))
	})
	return slices.Compact(mem), nil
}

// eachAccount calls visit for every account of a ledger with its encoded places there, which are
// valid only until visit returns.
func (m *Scratch) eachAccount(l *xrpl.Ledger, visit func(account xrpl.AccountID, places []byte) error) (err error) {
	if m.touches, err = touches(m.touches, l); err != nil {
		return err
	}
	for rest := m.touches; len(rest) > 0; {
		account, last := rest[0].account, 0
		m.distances = m.distances[:0]
		for len(rest) > 0 && rest[0].account == account {
			m.distances = binary.AppendUvarint(m.distances, uint64(rest[0].position-last))
			last = rest[0].position
			rest = rest[1:]
		}
		if err := visit(account, m.distances); err != nil {
			return err
		}
	}
	return nil
}

// AddAccounts puts a ledger's accounts into a batch.
func (m *Scratch) AddAccounts(b *pebble.Batch, l *xrpl.Ledger) error {
	return m.eachAccount(l, func(account xrpl.AccountID, places []byte) error {
		op := b.SetDeferred(1+len(account)+4, len(places))
		op.Key[0] = Accounts
		copy(op.Key[1:], account[:])
		binary.BigEndian.PutUint32(op.Key[1+len(account):], l.Index)
		copy(op.Value, places)
		return op.Finish()
	})
}

// DeleteAccounts puts into a batch that no ledger's accounts are indexed.
func DeleteAccounts(b *pebble.Batch) error {
	return b.DeleteRange([]byte{Accounts}, []byte{Accounts + 1}, nil)
}

// CheckAccounts compares a ledger's accounts with those that are indexed, and calls wrong for each
// difference. It returns their number.
func (d *DB) CheckAccounts(m *Scratch, l *xrpl.Ledger, wrong func(what string)) (n int, err error) {
	err = m.eachAccount(l, func(account xrpl.AccountID, places []byte) error {
		n++
		stored, err := d.Get(accountKey(account, l.Index))
		switch {
		case err != nil:
			wrong(fmt.Sprintf("for its transactions of %v one finds nothing (%v) in the index by account", account, err))
		case string(stored) != string(places):
			wrong(fmt.Sprintf("for its transactions of %v one finds %d bytes of places, not the %d that there should be in the index by account", account, len(stored), len(places)))
		}
		return nil
	})
	return n, err
}

// maxPage bounds the number of places that AccountTransactions returns.
const maxPage = 10_000

// AccountTransactions finds the transactions that affect an account, in a range of ledgers: oldest
// first (forward) or newest first, at most limit and at most 10,000. next is the marker for the
// call that continues; nil means that there are no more.
func (d *DB) AccountTransactions(account xrpl.AccountID, in history.Range, marker *Place, limit int, forward bool) (places []Place, next *Place, err error) {
	if marker != nil && forward {
		in.From = max(in.From, marker.Index)
	} else if marker != nil {
		in.To = min(in.To, marker.Index)
	}
	if in.From > in.To {
		return nil, nil, nil
	}
	limit = min(max(limit, 1), maxPage)
	keys := &pebble.IterOptions{LowerBound: accountKey(account, in.From), UpperBound: append(accountKey(account, in.To), 0)}
	err = d.each(keys, !forward, func(key, value []byte) error {
		index := binary.BigEndian.Uint32(key[1+len(account):])
		positions, err := parsePlaces(value)
		if err != nil {
			return err
		}
		if !forward {
			slices.Reverse(positions)
		}
		for _, position := range positions {
			p := Place{index, position}
			if marker != nil && index == marker.Index && (forward && position < marker.Position || !forward && position > marker.Position) {
				continue
			}
			if len(places) == limit {
				next = &p
				return errEnough
			}
			places = append(places, p)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("transactions of %v: %w", account, err)
	}
	return places, next, nil
}

func parsePlaces(b []byte) (positions []int, err error) {
	position := uint64(0)
	for len(b) > 0 {
		distance, n := binary.Uvarint(b)
		position += distance
		if n <= 0 || distance > xrpl.MaxTransactions || position >= xrpl.MaxTransactions {
			return nil, errors.New("the index by account is damaged")
		}
		positions = append(positions, int(position))
		b = b[n:]
	}
	return positions, nil
}
