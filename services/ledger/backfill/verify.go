package backfill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/parts/refusal"
	"dyno/parts/xrpl"
	"dyno/services/ledger/trust"
)

// ErrFork is for a ledger that is sound in itself, and not the parent of the one above it.
var ErrFork = errors.New("not the ledger that the one above it is built on")

// verify takes answers and proves them by themselves until the queue is closed.
func (r *run) verify(ctx context.Context, worker int) error {
	tree, err := newTree(r.Tree)
	if err != nil {
		return err
	}
	signatures := xrpl.NewVerifier()
	batch := make([]*item, r.VerifyBatch)
	for {
		n := r.queue.Take(worker, batch)
		if n == 0 {
			return nil
		}
		begin := time.Now()
		for _, it := range batch[:n] {
			if ctx.Err() != nil {
				continue // emptied, so that nobody waits
			}
			if err := r.prove(it, tree, signatures); err != nil {
				r.wrong(it, err)
				continue
			}
			r.arrive(it)
		}
		clear(batch[:n])
		since(&r.Watch.verifying, begin)
	}
}

// prove checks an answer as far as that needs no other ledger. What does not verify at L4 is a wrong answer only where it
// is not the ledger that the one above names.
func (r *run) prove(it *item, tree tree, signatures *xrpl.Verifier) (err error) {
	l := &it.answer.Ledger
	if r.Level == trust.L0 || r.headers {
		it.header, err = xrpl.ParseHeader(l.Header)
	} else {
		it.header, err = tree.Ledger(l)
	}
	if err != nil {
		return err
	}
	if it.header.Index != it.index {
		return fmt.Errorf("%w: asked for %d, it is %d", xrpl.ErrIndex, it.index, it.header.Index)
	}
	it.hash = it.header.Hash()
	l.Index, l.Hash = it.index, it.hash
	if r.Level >= trust.L4 && !r.headers && (r.Sample <= 1 || it.index%uint32(r.Sample) == 0) {
		n := 0
		n, it.doubt = signatures.Signatures(l, r.Signatures) // whose fault that is, its hash says, when it is known
		r.Watch.Signatures.Add(uint64(n))
	}
	it.proved = time.Now()
	return nil
}

// wrong puts a wrong answer to the account of who gave it, and has the ledger fetched from another.
func (r *run) wrong(it *item, err error) {
	r.blame(it, err)
	r.refetch(it, err)
	r.recycle(it)
}

// blame puts a wrong answer to the account of who gave it.
func (r *run) blame(it *item, err error) {
	r.Watch.Wrong.Add(1)
	if it.kept != 0 {
		r.Inbox.Drop(it.kept)
	}
	it.from.Blame(reason(err))
	if r.Wrong != nil {
		r.Wrong(it.from.Name(), it.answer, err)
	}
}

// refetch has a ledger fetched from another than who gave this answer, unless its twin has brought a right one.
func (r *run) refetch(it *item, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it.index > r.due {
		return // it is linked already
	}
	if r.arrived[it.index] == it {
		delete(r.arrived, it.index)
	}
	t := r.tried(it.index, fmt.Errorf("%s: %w", it.from.Name(), err))
	t.wrong = append(t.wrong, it.from)
	if r.arrived[it.index] == nil && !r.planner.Idle(it.index) {
		r.planner.Rejected(it.index, it.from, time.Now())
		r.Watch.Refetched.Add(1)
	}
	signal(r.wake)
}

// tried counts a failed try of a ledger that is not linked yet. It is called with mu held.
func (r *run) tried(index uint32, err error) *tries {
	t := r.trouble[index]
	if t == nil {
		t = new(tries)
		r.trouble[index] = t
	}
	t.count++
	t.last, r.bad = err, err
	signal(r.linked) // it may be one that was tried too often
	return t
}

// reason is what a wrong answer is counted under: a few words, the same for all of a kind.
func reason(err error) string {
	for _, kind := range []error{xrpl.ErrIndex, xrpl.ErrHash, xrpl.ErrRoot, xrpl.ErrSignature, xrpl.ErrKey, ErrFork, xrpl.ErrMalformed} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "wrong answer"
}

// arrive hands a proved answer to the linker, unless there is one already.
func (r *run) arrive(it *item) {
	it.from.Proved()
	r.mu.Lock()
	r.good, r.bad = it.proved, nil
	first := r.planner.Arrived(it.shard, it.index, it.proved)
	if first {
		r.arrived[it.index] = it
	}
	r.mu.Unlock()
	if !first {
		r.recycle(it)
	}
	signal(r.wake)
	signal(r.linked)
}

var _ tree = (*xrpl.Verifier)(nil)

// tree proves that an answer is one ledger (L1).
type tree interface {
	Ledger(*xrpl.Ledger) (xrpl.Header, error)
}

func newTree(name string) (tree, error) {
	switch name {
	case "", "sorted":
		return xrpl.NewVerifier(), nil
	case "nodes":
		return nodes{}, nil
	}
	return nil, refusal.Unknown("tree", name, "nodes", "sorted")
}
