package serve

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/answer"
	"dyno/services/ledger/xrpl/history"
)

// key is a page's index or its hash; the other one is zero.
type key struct {
	index uint32
	hash  xrpl.Hash
}

// view is what readers see. It is never changed after it is published.
type view struct {
	stored history.Set
	warm   bool
	pages  map[key]*answer.Page
}

// newest is the index of the newest stored ledger, or 0.
func (v *view) newest() uint32 {
	if len(v.stored) == 0 {
		return 0
	}
	return v.stored[len(v.stored)-1].To
}

// hot keeps the newest ledgers rendered. Readers load the view without a lock.
type hot struct {
	view  atomic.Pointer[view]
	store Store
	count int
	bytes int64

	mu     sync.Mutex     // one writer at a time
	window []*answer.Page // pages of view, ascending
	size   int64
	warm   bool
}

// add renders ledgers that are newer than those it would drop, and publishes the new ranges.
func (h *hot) add(ledgers ...*xrpl.Ledger) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.publish()
	for _, l := range ledgers {
		at, known := slices.BinarySearchFunc(h.window, l.Index, byIndex)
		if known || at == 0 && len(h.window) >= h.count {
			continue
		}
		own := cloned(l)
		// The store's order, so that its places are valid here.
		if err := xrpl.SortByIndex(own.Transactions); err != nil {
			return fmt.Errorf("ledger %d: %w", l.Index, err)
		}
		p, err := answer.NewPage(own)
		if err != nil {
			return fmt.Errorf("ledger %d: %w", l.Index, err)
		}
		p.Render()
		h.window = slices.Insert(h.window, at, p)
		h.size += p.Size()
	}
	return nil
}

func byIndex(p *answer.Page, index uint32) int { return int(int64(p.Parsed.Index) - int64(index)) }

// publish drops pages above the limits, the oldest first, and publishes the rest.
func (h *hot) publish() {
	for len(h.window) > h.count || h.size > h.bytes && len(h.window) > 1 {
		h.size -= h.window[0].Size()
		h.window = slices.Delete(h.window, 0, 1)
	}
	v := &view{stored: h.store.Stored(), warm: h.warm, pages: make(map[key]*answer.Page, 2*len(h.window))}
	for _, p := range h.window {
		v.pages[key{index: p.Parsed.Index}], v.pages[key{hash: p.Hash}] = p, p
	}
	h.view.Store(v)
}

func (h *hot) warmed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warm = true
	h.publish()
}

func cloned(l *xrpl.Ledger) xrpl.Ledger {
	out := *l
	out.Header = slices.Clone(l.Header)
	out.Transactions = make([]xrpl.Transaction, len(l.Transactions))
	for i, tx := range l.Transactions {
		out.Transactions[i] = xrpl.Transaction{Blob: slices.Clone(tx.Blob), Meta: slices.Clone(tx.Meta)}
	}
	return out
}
