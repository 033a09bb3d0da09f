package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
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
		err := xrpl.Accounts(t.Blob, t.Meta, func(a xrpl.AccountID) { mem = append(mem, touch{a, i}) })
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
func eachAccount(mem *scratch, l *xrpl.Ledger, visit func(account xrpl.AccountID, places []byte) error) (err error) {
	if mem.touches, err = touches(mem.touches, l); err != nil {
		return err
	}
	for rest := mem.touches; len(rest) > 0; {
		account, last := rest[0].account, 0
		mem.distances = mem.distances[:0]
		for len(rest) > 0 && rest[0].account == account {
			mem.distances = binary.AppendUvarint(mem.distances, uint64(rest[0].position-last))
			last = rest[0].position
			rest = rest[1:]
		}
		if err := visit(account, mem.distances); err != nil {
			return err
		}
	}
	return nil
}

func setAccounts(b *pebble.Batch, l *xrpl.Ledger, mem *scratch) error {
	return eachAccount(mem, l, func(account xrpl.AccountID, places []byte) error {
		op := b.SetDeferred(1+len(account)+4, len(places))
		op.Key[0] = kindAccount
		copy(op.Key[1:], account[:])
		binary.BigEndian.PutUint32(op.Key[1+len(account):], l.Index)
		copy(op.Value, places)
		return op.Finish()
	})
}

// maxPage bounds the number of places that AccountTransactions returns.
const maxPage = 10_000

// AccountTransactions finds the transactions that affect an account, in a range of ledgers: oldest
// first (forward) or newest first, at most limit and at most 10,000. next is the marker for the
// call that continues; nil means that there are no more. ErrNoAccounts: the store has no index by
// account; ErrLacking: the index does not have all of the range yet.
func (s *Store) AccountTransactions(account xrpl.AccountID, from, to uint32, marker *Place, limit int, forward bool) (places []Place, next *Place, err error) {
	if !s.accounts {
		return nil, nil, ErrNoAccounts
	}
	asked := history.Range{From: from, To: to}
	if rest := s.durable.Load().lacking.Missing(asked); rest.Len() != asked.Len() {
		return nil, nil, ErrLacking
	}
	if marker != nil && forward {
		from = max(from, marker.Index)
	} else if marker != nil {
		to = min(to, marker.Index)
	}
	limit = min(max(limit, 1), maxPage)
	err = s.scanAccount(account, from, to, forward, func(index uint32, positions []int) bool {
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
				return false
			}
			places = append(places, p)
		}
		return true
	})
	if err != nil {
		return nil, nil, fmt.Errorf("transactions of %v: %w", account, err)
	}
	return places, next, nil
}

// scanAccount visits the ledgers that affect an account until visit returns false.
func (s *Store) scanAccount(account xrpl.AccountID, from, to uint32, forward bool, visit func(index uint32, positions []int) bool) error {
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return ErrClosed
	}
	if from > to {
		return nil
	}
	it, err := s.index.NewIter(&pebble.IterOptions{LowerBound: accountKey(account, from), UpperBound: append(accountKey(account, to), 0)})
	if err != nil {
		return err
	}
	begin, step := it.First, it.Next
	if !forward {
		begin, step = it.Last, it.Prev
	}
	for ok := begin(); ok && err == nil; ok = step() {
		var positions []int
		if positions, err = parsePlaces(it.Value()); err == nil && !visit(binary.BigEndian.Uint32(it.Key()[1+len(account):]), positions) {
			break
		}
	}
	return errors.Join(err, it.Error(), it.Close())
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
