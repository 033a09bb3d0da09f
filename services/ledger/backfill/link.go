package backfill

import (
	"context"
	"errors"
	"time"

	"dyno/parts/xrpl"
	"dyno/services/ledger/history"
	"dyno/services/ledger/trust"
)

// link takes proved answers from the top of the gap down, holds each against the parent's hash that the one above it
// names, and gives them to the sink. Zero for expect: the top's hash is nobody's to say (L0, L1).
func (r *run) link(ctx context.Context, expect xrpl.Hash) error {
	links := r.Level >= trust.L2
	var missing []*Missing
	for index := r.gap.To; index >= r.gap.From && index > 0; {
		it, gone := r.take(index)
		switch {
		case gone != nil && links:
			return &Missing{Index: index, Gap: history.Range{From: r.gap.From, To: index}, Err: gone}
		case gone != nil:
			if n := len(missing); n > 0 && missing[n-1].Gap.From == index+1 { // neighbours are one gap: it may be millions
				missing[n-1].Gap.From = index
			} else {
				missing = append(missing, &Missing{Index: index, Gap: history.Range{From: index, To: index}, Err: gone})
			}
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
			r.wrong(it, ErrFork)
			continue
		}
		expect = it.header.Parent
		r.Watch.linked(it)
		begin := time.Now()
		err := r.Sink.Put(ctx, &it.answer.Ledger, func() { r.recycle(it) })
		since(&r.Watch.sinking, begin)
		if err != nil {
			return err
		}
		r.advance(index)
		index--
	}
	var errs []error
	for _, m := range missing {
		errs = append(errs, m)
	}
	return errors.Join(errs...)
}

// take is the proved answer of an index if it is there, or why it will not be.
func (r *run) take(index uint32) (*item, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it := r.arrived[index]; it != nil {
		delete(r.arrived, index)
		return it, nil
	}
	if t := r.trouble[index]; t != nil && t.count >= r.Attempts {
		return nil, t.last
	}
	return nil, r.gone
}

// advance tells the planner how far all is linked.
func (r *run) advance(index uint32) {
	r.mu.Lock()
	delete(r.trouble, index)
	r.planner.Advance(index)
	r.mu.Unlock()
	signal(r.wake)
}
