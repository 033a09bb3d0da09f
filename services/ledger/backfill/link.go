package backfill

import (
	"cmp"
	"context"
	"errors"
	"time"

	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/history"
)

// link takes verified answers from the top of the gap down, checks each against the parent hash in
// the ledger above it, and passes them to the Sink. Zero for expect: the top hash is not checked
// (L0, L1). A ledger that servers do not give is asked for by its hash; where that fails too, its
// header alone leads to those below.
func (r *run) link(ctx context.Context, expect xrpl.Hash) error {
	links := r.Level >= trust.L2
	var missing gaps
	var byHash uint32 // the last ledger that was asked for by its hash
	for index := r.gap.To; index >= r.gap.From && index > 0; {
		it, fatalErr, all := r.take(index)
		switch {
		case it == nil && !all && byHash != index && !expect.IsZero() && (fatalErr != nil || r.notFound(index)):
			byHash = index
			if err := r.askByHash(ctx, index, expect); err != nil {
				return err
			}
			continue
		case fatalErr != nil:
			var parent xrpl.Hash
			if links && !all {
				if index == r.gap.To {
					fatalErr = cmp.Or(r.anchorRejected(expect), fatalErr)
				}
				var err error
				if parent, err = r.parent(ctx, index, expect); err != nil {
					return err
				}
			}
			if all || links && parent.IsZero() {
				missing.add(history.Range{From: r.gap.From, To: index}, fatalErr)
				return missing.err()
			}
			missing.add(history.Range{From: index, To: index}, fatalErr)
			if err := r.checkBelow(index, parent, links); err != nil {
				return errors.Join(missing.err(), err)
			}
			expect = parent
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
			if err := r.hashMismatch(it, expect); err != nil {
				return &Missing{Index: index, Gap: history.Range{From: r.gap.From, To: index}, Err: err}
			}
			continue
		}
		if links && it.sigErr != nil && expect.IsZero() { // the ledger above is not known
			r.wrong(it, it.sigErr)
			continue
		}
		r.trustAnchor()
		if err := r.checkBelow(index, it.header.Parent, links); err != nil {
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

// mark reports a ledger that has the hash that the one above names, and fails verification at L4.
func (r *run) mark(it *item) error {
	if it.sigErr == nil {
		return nil
	}
	r.Watch.Marked.Add(1)
	if r.Mark == nil {
		return nil
	}
	return r.Mark(it.index, it.sigErr)
}

// take returns the verified answer for an index if it has arrived, or why it never will; all says
// that no lower ledger will arrive either.
func (r *run) take(index uint32) (it *item, fatalErr error, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it := r.verified[index]; it != nil {
		return it, nil, false
	}
	if r.fatalErr != nil {
		return nil, r.fatalErr, true
	}
	if t := r.failures[index]; t != nil && t.count >= r.Attempts {
		return nil, t.last, false
	}
	return nil, nil, false
}

// checkBelow checks that the range's lowest ledger names the ledger stored below as its parent.
func (r *run) checkBelow(index uint32, parent xrpl.Hash, links bool) error {
	if !links || r.Below.Index == 0 || index != r.gap.From || parent == r.Below.Hash {
		return nil
	}
	return &Mismatch{Index: r.Below.Index, Stored: r.Below.Hash, Proved: parent}
}

// accept makes an answer the one for its index: later answers for that index are discarded.
func (r *run) accept(it *item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.verified, it.index)
	r.nextIndex = it.index - 1
}

// advance reports to the planner that all ledgers from index up are linked or reported missing.
func (r *run) advance(index uint32) {
	r.mu.Lock()
	late := r.verified[index] // it arrived after it was reported missing
	delete(r.verified, index)
	delete(r.failures, index)
	r.nextIndex = index - 1
	r.planner.Advance(index)
	r.mu.Unlock()
	if late != nil {
		r.recycle(late)
	}
	signal(r.wake)
}
