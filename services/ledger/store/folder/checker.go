package folder

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/store"
	"dyno/services/ledger/store/index"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// CheckReport is the result of CheckStore.
type CheckReport struct {
	Ledgers      int `json:"ledgers"`
	Transactions int `json:"transactions"`
	Signatures   int `json:"signatures"`
	Links        int `json:"links"` // between neighbours that are both stored
	// How far the sync proved them, as it reported: Progress.Proof.
	Synced string `json:"synced,omitempty"`
	// Of the range of the last sync, as FROM-TO: its remaining work.
	Gaps        []string  `json:"gaps"`
	Failed      []Failure `json:"failed"` // at most 1,000
	More        int       `json:"more_failed,omitempty"`
	trust.Marks           // at L4: failed ledgers whose hashes fit; below: ledgers that a sync marked
	Received    int       `json:"received,omitempty"` // answers that wait for their proof
	Repaired    *Repaired `json:"repaired,omitempty"` // earlier repair; nil: none

	Stored history.Set `json:"-"` // set by Check
}

// Repaired is the result of a repair.
type Repaired struct {
	// Files in that folder: bytes that are no records, and the old index.
	Quarantined []string `json:"quarantined"`
	Bytes       int64    `json:"bytes"` // bytes of the packs that are no records
}

// Failure is what is wrong with a ledger, or with the store (LedgerIndex 0).
type Failure struct {
	LedgerIndex uint32 `json:"ledger_index"`
	Reason      string `json:"reason"`
}

// Clean says whether no failure was found. A sync's remaining work is no failure.
func (r CheckReport) Clean() bool { return len(r.Failed) == 0 }

// Err says what to do about a store that is not clean; nil for one that is.
func (r CheckReport) Err() error {
	failures := len(r.Failed) + r.More
	if r.Clean() {
		return nil
	}
	if marked := r.Marks.Len(); marked == failures {
		return fmt.Errorf("%d ledgers have their hashes and do not verify at L4: no other server has them otherwise", marked)
	}
	return fmt.Errorf("%d failures%s", failures, index.RepairHint)
}

const maxFailures = 1000

// portion is the number of ledgers that a goroutine checks.
const portion = 64

type checker struct {
	store     *store.Store
	level     trust.Level
	signature signing.Checker
	report    func(done, total int)
	total     int

	mu       sync.Mutex
	done     int         // ledgers; guarded by mu
	found    CheckReport // guarded by mu
	accounts int         // guarded by mu: expected number of keys
	ids      int         // guarded by mu: expected number of keys of transactions
}

// CheckStore proves again what is stored: that exactly the ledgers that should be there are; that
// each header and its transactions have their hashes, and that each ledger is the parent of the one
// above (from L1 on); that the transactions are signed (L4); and that every index is complete and
// has no other entries. It calls report, if it is not nil, after each ledger, one call at a time.
// It returns an error when it cannot continue; failures of the store are in the report. The caller
// should not write meanwhile.
func CheckStore(ctx context.Context, s *store.Store, level trust.Level, report func(done, total int)) (CheckReport, error) {
	stored := s.Stored()
	c := &checker{store: s, level: level, report: report, total: stored.Len()}
	c.found = CheckReport{Gaps: []string{}, Failed: []Failure{}}
	if level < trust.L4 {
		var err error
		if c.found.Marks, err = s.Marks(store.Everything); err != nil {
			return c.found, err
		}
	}
	if level >= trust.L4 {
		_, c.signature = signing.FastestChecker()
	}
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range stored {
		for from := uint64(r.From); from <= uint64(r.To); from += portion {
			part := history.Range{From: uint32(from), To: uint32(min(from+portion-1, uint64(r.To)))}
			group.Go(func() error { return c.portion(working, part) })
		}
	}
	if err := group.Wait(); err != nil {
		return c.found, err
	}
	if err := c.counts(ctx, stored); err != nil {
		return c.found, err
	}
	if err := c.damage(); err != nil {
		return c.found, err
	}
	c.progress(stored)
	c.found.Sort()
	c.found.Synced = c.found.But(c.found.Synced)
	c.found.Received = len(s.Received())
	return c.found, nil
}

// portion proves a part of a range again.
func (c *checker) portion(ctx context.Context, r history.Range) error {
	v := xrpl.NewVerifier()
	var mem index.Scratch
	below := c.hashBelow(r.From)
	for n := range r.Len() {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if below, err = c.ledger(v, &mem, r.From+uint32(n), below); err != nil {
			return err
		}
		c.reportDone()
	}
	return nil
}

func (c *checker) reportDone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done++; c.report != nil {
		c.report(c.done, c.total)
	}
}

// hashBelow is the hash of the ledger below one, zero if it is not stored: its own check reports
// what is wrong with it.
func (c *checker) hashBelow(index uint32) xrpl.Hash {
	if index == 1 || !c.store.Stored().Has(index-1) {
		return xrpl.Hash{}
	}
	_, hash, err := c.store.Header(index - 1)
	if err != nil {
		return xrpl.Hash{}
	}
	return hash
}

// ledger checks a ledger, and returns its hash for the one above.
func (c *checker) ledger(v *xrpl.Verifier, mem *index.Scratch, index uint32, below xrpl.Hash) (xrpl.Hash, error) {
	var l xrpl.Ledger
	err := c.store.Ledger(index, &l)
	switch {
	case errors.Is(err, store.ErrMissing):
		c.fail(index, "it should be stored and is not there")
		return xrpl.Hash{}, nil
	case errors.Is(err, store.ErrClosed):
		return xrpl.Hash{}, err
	case err != nil:
		c.fail(index, err.Error())
		return xrpl.Hash{}, nil
	}
	var h xrpl.Header
	if c.level >= trust.L1 {
		h, err = v.Ledger(&l)
	} else {
		h, err = xrpl.ParseHeader(l.Header)
	}
	if err != nil {
		c.fail(index, err.Error())
		return l.Hash, nil
	}
	signatures := 0
	if c.signature != nil {
		if signatures, err = signing.Verify(&l, c.signature); err != nil {
			c.fail(index, err.Error())
			c.mark(index, err.Error())
		}
	}
	linked := 0
	if c.level >= trust.L1 && !below.IsZero() {
		linked = 1
		if h.Parent != below {
			c.fail(index, fmt.Sprintf("its parent is %v, and ledger %d is %v", h.Parent, index-1, below))
		}
	}
	accounts, ids, err := c.indexes(&l, mem)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found.Ledgers++
	c.found.Transactions += len(l.Transactions)
	c.found.Signatures += signatures
	c.found.Links += linked
	c.accounts += accounts
	c.ids += ids
	return l.Hash, err
}

// indexes checks that a ledger is found by its hash, its transactions and their accounts. It
// returns the expected numbers of keys of accounts and of transactions. A transaction that is in
// several ledgers, as simulators repeat them, may be found at any of its places.
func (c *checker) indexes(l *xrpl.Ledger, mem *index.Scratch) (accounts, ids int, err error) {
	if number, err := c.store.ByHash(l.Hash); err != nil || number != l.Index {
		c.fail(l.Index, fmt.Sprintf("by its hash %v one finds %s", l.Hash, found(err, "ledger %d", number)))
	}
	for i := range l.Transactions {
		id := xrpl.TransactionID(l.Transactions[i].Blob)
		p, err := c.store.Transaction(id)
		if err == nil && p == (index.Place{Index: l.Index, Position: i}) {
			ids++
		} else if err != nil || !c.holds(p, id) {
			c.fail(l.Index, fmt.Sprintf("by its id %v of transaction %d one finds %s", id, i, found(err, "place %d of ledger %d", p.Position, p.Index)))
		}
	}
	if !c.store.HasAccounts() || !c.store.Indexed().Has(l.Index) {
		return 0, ids, nil
	}
	accounts, err = c.store.Index().CheckAccounts(mem, l, func(what string) { c.fail(l.Index, what) })
	if err != nil {
		c.fail(l.Index, err.Error())
	}
	return accounts, ids, nil
}

func (c *checker) holds(p index.Place, id xrpl.Hash) bool {
	var l xrpl.Ledger
	return c.store.Ledger(p.Index, &l) == nil && p.Position < len(l.Transactions) && xrpl.TransactionID(l.Transactions[p.Position].Blob) == id
}

// found describes the result of a lookup: the value, or the error.
func found(err error, format string, that ...any) string {
	if err != nil {
		return fmt.Sprintf("nothing (%v)", err)
	}
	return fmt.Sprintf(format, that...)
}

// counts checks that the indexes have no other entries than the expected ones.
func (c *checker) counts(ctx context.Context, stored history.Set) error {
	for _, kind := range []struct {
		key  byte
		what string
		want int
	}{
		{index.Ledgers, "ledgers", c.found.Ledgers},
		{index.Hashes, "hashes of ledgers", c.found.Ledgers},
		{index.Transactions, "transactions in the index", c.ids},
		{index.Accounts, "places in the index by account", c.accounts},
	} {
		n, err := c.store.Index().Count(ctx, kind.key)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, store.ErrClosed):
			return err
		case err != nil:
			c.fail(0, fmt.Sprintf("the index of %s cannot be read: %v", kind.what, index.FirstLine(err)))
		case n != kind.want:
			c.fail(0, fmt.Sprintf("there are %d %s, and the ledgers that are stored (%v) have %d", n, kind.what, stored, kind.want))
		}
	}
	return nil
}

// damage reports the bytes of the packs that could not be indexed: they held ledgers, which are
// missing now, or marks.
func (c *checker) damage() error {
	err := c.store.Index().EachDamage(func(what string) { c.fail(0, what) })
	if err != nil && !errors.Is(err, store.ErrClosed) {
		c.fail(0, fmt.Sprintf("the index of damage cannot be read: %v", index.FirstLine(err)))
		err = nil
	}
	return err
}

// progress reports the remaining work of the last sync, and whether its request is valid.
func (c *checker) progress(stored history.Set) {
	p := c.store.Progress()
	c.found.Synced = p.Proof()
	if p.Range() == (history.Range{}) && len(stored) == 0 {
		return
	}
	if p.From == 0 || p.From > p.To {
		c.fail(0, fmt.Sprintf("the progress says that ledgers %d to %d were asked for", p.From, p.To))
		return
	}
	for _, gap := range stored.Missing(p.Range()) {
		c.found.Gaps = append(c.found.Gaps, gap.String())
	}
}

func (c *checker) mark(number uint32, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found.Add(number, reason)
}

func (c *checker) fail(number uint32, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.found.Failed) == maxFailures {
		c.found.More++
		return
	}
	c.found.Failed = append(c.found.Failed, Failure{number, reason})
}
