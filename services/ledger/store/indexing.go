package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"dyno/services/ledger/store/index"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// beginAccounts switches the index by account on: ledgers stored from now on are in it, earlier
// ones are lacking until IndexAccounts. The packs record that, so that it stays on.
func (s *Store) beginAccounts() error {
	if !s.writable {
		return ErrNoAccounts
	}
	next := *s.durable.Load()
	s.accounts, next.lacking = true, next.stored
	s.durable.Store(&next)
	return s.Append(nil, next.progress)
}

// ForgetAccounts empties the index by account: IndexAccounts makes it anew. It is durable after
// Close.
func (s *Store) ForgetAccounts() error {
	s.apply.Lock()
	defer s.apply.Unlock()
	if !s.accounts {
		return nil
	}
	b := s.index.Batch(0)
	defer b.Close()
	next := *s.durable.Load()
	next.lacking = next.stored
	if err := errors.Join(index.DeleteAccounts(b), setLacking(b, next.lacking), s.index.Apply(b)); err != nil {
		return err
	}
	s.durable.Store(&next)
	return nil
}

// indexedBytes is the maximum batch of IndexAccounts: it bounds how long other writers wait.
const indexedBytes = 64 << 10

func setLacking(b *pebble.Batch, lacking history.Set) error {
	return b.Set(index.MetaKey("lacking"), []byte(lacking.String()), nil)
}

// Indexed is the set of ledgers that the index by account has, if there is one. It only grows.
func (s *Store) Indexed() history.Set {
	st := s.durable.Load()
	if len(st.lacking) == 0 {
		return st.stored
	}
	return st.stored.Without(st.lacking)
}

// Lacking is the number of stored ledgers that the index by account lacks.
func (s *Store) Lacking() int { return s.durable.Load().lacking.Len() }

// IndexAccounts adds the lacking ledgers to the index by account, the newest first. Other calls may
// run meanwhile, and an interruption loses at most the last 8 MiB of the index. A ledger that
// cannot be read is skipped, and the error says which.
func (s *Store) IndexAccounts(ctx context.Context) error {
	var unreadable error
	for _, r := range slices.Backward(s.durable.Load().lacking) {
		for r.Len() > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			done, bad, err := s.indexSome(r)
			if err != nil {
				return fmt.Errorf("the index by account: %w", err)
			}
			if bad != nil && unreadable == nil {
				unreadable = fmt.Errorf("the index by account lacks ledger %d, and perhaps more: %w%s", done.From, bad, index.RepairHint)
			}
			if done.From == r.From {
				break
			}
			r.To = done.From - 1
		}
	}
	return unreadable
}

// indexSome adds ledgers to the index by account, from the top of a range down. If bad is not nil,
// the lowest of the done ones could not be read, and is still lacking.
func (s *Store) indexSome(r history.Range) (done history.Range, bad, err error) {
	b := s.index.Batch(0)
	defer b.Close()
	mem := s.scratch.Get().(*scratch)
	defer s.scratch.Put(mem)
	done, indexed := history.Range{From: r.To, To: r.To}, history.Range{From: r.To + 1, To: r.To}
	for ; ; done.From-- {
		var l xrpl.Ledger
		if bad = s.Ledger(done.From, &l); bad == nil {
			bad = mem.AddAccounts(b, &l)
		}
		if errors.Is(bad, ErrClosed) {
			return done, nil, bad
		}
		if bad != nil {
			break
		}
		indexed.From = done.From
		if done.From == r.From || b.Len() > indexedBytes {
			break
		}
	}
	return done, bad, s.addIndexed(b, indexed)
}

// addIndexed writes a batch with a range's entries of the index by account.
func (s *Store) addIndexed(b *pebble.Batch, r history.Range) error {
	if r.Len() == 0 {
		return nil
	}
	if err := s.room(b.Len()); err != nil {
		return err
	}
	s.open.RLock()
	defer s.open.RUnlock()
	if s.closed {
		return ErrClosed
	}
	s.apply.Lock()
	defer s.apply.Unlock()
	next := *s.durable.Load()
	next.lacking = next.lacking.Without(history.Set{r})
	if err := setLacking(b, next.lacking); err != nil {
		return err
	}
	if err := s.index.Apply(b); err != nil {
		return err
	}
	s.durable.Store(&next)
	return nil
}
