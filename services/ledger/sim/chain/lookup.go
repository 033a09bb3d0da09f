package chain

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// ErrNotThere means that the chain has no such ledger and will not have it.
var ErrNotThere = errors.New("no such ledger")

// Index is the ledger's index.
func (e *Entry) Index() uint32 { return binary.BigEndian.Uint32(e.header[:]) }

// Hash is the ledger's hash.
func (e *Entry) Hash() xrpl.Hash { return e.hash }

// Header is the ledger's header, which the caller must not change.
func (e *Entry) Header() []byte { return e.header[:] }

// Parsed is the ledger's header.
func (e *Entry) Parsed() xrpl.Header { h, _ := xrpl.ParseHeader(e.header[:]); return h }

// Forged reports whether one of the ledger's signatures is wrong.
func (e *Entry) Forged() bool { return e.set.forged }

// Count is the number of the ledger's transactions.
func (e *Entry) Count() int { return e.set.count }

// until waits until ok returns true, the chain fails, or ctx ends. It calls ok with the lock held.
func (c *Chain) until(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		done, err, grown := ok(), c.err, c.grown
		c.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// At returns a ledger, and waits for it if it is not made yet.
func (c *Chain) At(ctx context.Context, index uint32) (e Entry, err error) {
	n := -1
	err = c.until(ctx, func() bool {
		if n = c.place(index); n >= 0 {
			e = c.entries[n]
			return true
		}
		return c.mint == nil || index < c.config.First || uint64(index) >= uint64(c.config.First)+uint64(c.target)
	})
	if err == nil && n < 0 {
		err = ErrNotThere
	}
	return e, err
}

// Grown returns a ledger, and waits until the chain has grown to it.
func (c *Chain) Grown(ctx context.Context, index uint32) (e Entry, err error) {
	err = c.until(ctx, func() bool {
		n := c.place(index)
		if n >= 0 {
			e = c.entries[n]
		}
		return n >= 0
	})
	return e, err
}

// place is a ledger's index in entries, -1 if it is not there. The caller holds the lock.
func (c *Chain) place(index uint32) int {
	if c.mint != nil {
		if n := int64(index) - int64(c.config.First); n >= 0 && n < int64(len(c.entries)) {
			return int(n)
		}
		return -1
	}
	n, found := sort.Find(len(c.entries), func(i int) int { return cmp.Compare(index, c.entries[i].Index()) })
	if !found {
		return -1
	}
	return n
}

// Hashed finds a ledger that has been made by its hash.
func (c *Chain) Hashed(h xrpl.Hash) (uint32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.byHash[h]
	if !ok {
		return 0, false
	}
	return c.entries[n].Index(), true
}

// Highest returns the ledger of an index or, if that is not made yet, the highest that is; false
// before the first.
func (c *Chain) Highest(index uint32) (Entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.place(index); n >= 0 {
		return c.entries[n], true
	}
	if len(c.entries) == 0 {
		return Entry{}, false
	}
	return c.entries[len(c.entries)-1], true
}

// All is the set of ledgers, including those that will be made without growing.
func (c *Chain) All() history.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mint != nil {
		return history.Set{{From: c.config.First, To: c.config.First + uint32(c.target) - 1}}
	}
	var s history.Set
	for i := range c.entries {
		index := c.entries[i].Index()
		if n := len(s); n > 0 && s[n-1].To+1 == index {
			s[n-1].To = index
		} else {
			s = append(s, history.Range{From: index, To: index})
		}
	}
	return s
}

// Ledger returns the true ledger, in the caller's memory; it waits for one that is not made yet.
func (c *Chain) Ledger(ctx context.Context, index uint32) (*xrpl.Ledger, error) {
	e, err := c.At(ctx, index)
	if err != nil {
		return nil, fmt.Errorf("ledger %d: %w", index, err)
	}
	txs, err := c.transactions(e.set)
	if err != nil {
		return nil, err
	}
	return &xrpl.Ledger{Index: index, Hash: e.hash, Header: slices.Clone(e.header[:]), Transactions: txs}, nil
}

// Find searches a transaction in the ledgers for which had is true; nil: there is none.
func (c *Chain) Find(id xrpl.Hash, had func(uint32) bool) (l Entry, tx *xrpl.Transaction, err error) {
	short := binary.BigEndian.Uint64(id[:])
	c.mu.Lock()
	entries := c.entries
	c.mu.Unlock()
	for i := range entries {
		if !slices.Contains(entries[i].set.ids, short) || !had(entries[i].Index()) {
			continue
		}
		txs, err := c.transactions(entries[i].set)
		if err != nil {
			return Entry{}, nil, err
		}
		at := slices.IndexFunc(txs, func(tx xrpl.Transaction) bool { return xrpl.TransactionID(tx.Blob) == id })
		if at >= 0 {
			return entries[i], &txs[at], nil
		}
	}
	return Entry{}, nil, nil
}
