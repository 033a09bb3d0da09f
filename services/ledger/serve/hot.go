package serve

import (
	"fmt"
	"slices"
	"sync"

	"dyno/parts/snapshot"
	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
)

// key finds a page by its index or by its hash; the other one is zero.
type key struct {
	index uint32
	hash  xrpl.Hash
}

// summary is what readers know of the whole. It is a value of its own: nobody changes what it holds.
type summary struct {
	stored history.Set
	warm   bool
}

// newest is the index of the newest ledger that is stored, or 0.
func (s summary) newest() uint32 {
	if len(s.stored) == 0 {
		return 0
	}
	return s.stored[len(s.stored)-1].To
}

// hot keeps the newest ledgers rendered.
type hot struct {
	view  snapshot.Snapshot[summary, key, *page]
	store Store
	count int
	bytes int64

	mu     sync.Mutex // one writer at a time
	window []*page    // what view holds, ascending
	size   int64
	warm   bool
}

// add takes in ledgers that are newer than what would be dropped for them, and tells readers which are stored now.
func (h *hot) add(ledgers ...*xrpl.Ledger) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	put := map[key]*page{}
	defer func() { h.publish(put) }()
	for _, l := range ledgers {
		at, known := slices.BinarySearchFunc(h.window, l.Index, byIndex)
		if known || at == 0 && len(h.window) >= h.count {
			continue
		}
		own := cloned(l)
		if err := xrpl.SortByIndex(own.Transactions); err != nil { // as the store has them, so that its places hold here
			return fmt.Errorf("ledger %d: %w", l.Index, err)
		}
		p, err := newPage(own)
		if err != nil {
			return fmt.Errorf("ledger %d: %w", l.Index, err)
		}
		p.render()
		put[key{index: p.header.Index}], put[key{hash: p.hash}] = p, p
		h.window = slices.Insert(h.window, at, p)
		h.size += p.size()
	}
	return nil
}

func byIndex(p *page, index uint32) int { return int(int64(p.header.Index) - int64(index)) }

// publish drops what is too much, the oldest first, and swaps the snapshot.
func (h *hot) publish(put map[key]*page) {
	var remove []key
	for len(h.window) > h.count || h.size > h.bytes && len(h.window) > 1 {
		oldest := h.window[0]
		h.window = h.window[1:]
		h.size -= oldest.size()
		for _, k := range []key{{index: oldest.header.Index}, {hash: oldest.hash}} {
			remove = append(remove, k)
			delete(put, k)
		}
	}
	h.view.Update(snapshot.Change[summary, key, *page]{Summary: summary{h.store.Stored(), h.warm}, Remove: remove, Put: put})
}

// warmed makes the server ready.
func (h *hot) warmed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warm = true
	h.publish(nil)
	return nil
}

// cloned is a ledger with bytes of its own.
func cloned(l *xrpl.Ledger) xrpl.Ledger {
	out := *l
	out.Header = slices.Clone(l.Header)
	out.Transactions = make([]xrpl.Transaction, len(l.Transactions))
	for i, tx := range l.Transactions {
		out.Transactions[i] = xrpl.Transaction{Blob: slices.Clone(tx.Blob), Meta: slices.Clone(tx.Meta)}
	}
	return out
}
