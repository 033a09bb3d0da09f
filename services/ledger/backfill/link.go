package backfill

import (
	"cmp"
	"context"
	"time"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/trust"
)

// link takes proved answers from the top of the gap down, holds each against the parent's hash that the one above it
// names, and gives them to the sink. Zero for expect: the top's hash is nobody's to say (L0, L1).
func (r *run) link(ctx context.Context, expect xrpl.Hash) error {
	links := r.Level >= trust.L2
	var missing gaps
	for index := r.gap.To; index >= r.gap.From && index > 0; {
		it, gone, all := r.take(index)
		switch {
		case gone != nil && (links || all):
			if index == r.gap.To {
				gone = cmp.Or(r.disowned(expect), gone)
			}
			missing.add(history.Range{From: r.gap.From, To: index}, gone)
			return missing.err()
		case gone != nil:
			missing.add(history.Range{From: index, To: index}, gone)
			r.advance(index)
			index--
			continue
		case it == nil:
			select {
			case <-r.linked:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		case links && !expect.IsZero() && it.hash != expect:
			if err := r.misfit(it, expect); err != nil {
				return &Missing{Index: index, Gap: history.Range{From: r.gap.From, To: index}, Err: err}
			}
			continue
		}
		if links && it.doubt != nil && expect.IsZero() { // no ledger above names it
			r.wrong(it, it.doubt)
			continue
		}
		r.believe()
		if err := r.joins(it, links); err != nil {
			r.recycle(it)
			return err
		}
		if err := r.mark(it); err != nil {
			r.recycle(it)
			return err
		}
		r.accept(it)
		expect = it.header.Parent
		it.from.Linked()
		r.Watch.linked(it)
		if it.kept != 0 {
			r.Inbox.Accept(it.kept)
		}
		begin := time.Now()
		err := r.Sink.Put(ctx, &it.answer.Ledger, func() { r.recycle(it) })
		since(&r.Watch.sinking, begin)
		if err != nil {
			return err
		}
		r.advance(index)
		index--
	}
	return missing.err()
}

// mark passes on that a ledger is what the one above names, and does not verify at L4.
func (r *run) mark(it *item) error {
	if it.doubt == nil {
		return nil
	}
	r.Watch.Marked.Add(1)
	if r.Mark == nil {
		return nil
	}
	return r.Mark(it.index, it.doubt)
}

// take is the proved answer of an index if it is there, or why it will not be; all: nor will any below it.
func (r *run) take(index uint32) (it *item, gone error, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it := r.arrived[index]; it != nil {
		return it, nil, false
	}
	if r.gone != nil {
		return nil, r.gone, true
	}
	if t := r.trouble[index]; t != nil && t.count >= r.Attempts {
		return nil, t.last, false
	}
	return nil, nil, false
}

// joins sees that the range's lowest ledger fits onto what is stored below it.
func (r *run) joins(it *item, links bool) error {
	if !links || r.Below.Index == 0 || it.index != r.gap.From || it.header.Parent == r.Below.Hash {
		return nil
	}
	return &Mismatch{Index: r.Below.Index, Stored: r.Below.Hash, Proved: it.header.Parent}
}

// accept makes an answer the ledger that it is for: what comes later for it counts for nothing.
func (r *run) accept(it *item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.arrived, it.index)
	r.due = it.index - 1
}

// advance tells the planner how far all is linked, or given up.
func (r *run) advance(index uint32) {
	r.mu.Lock()
	late := r.arrived[index] // after it was given up
	delete(r.arrived, index)
	delete(r.trouble, index)
	r.due = index - 1
	r.planner.Advance(index)
	r.mu.Unlock()
	if late != nil {
		r.recycle(late)
	}
	signal(r.wake)
}
