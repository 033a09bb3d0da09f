package backfill

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dyno/services/ledger/signing"
	"dyno/services/ledger/trust"
	"dyno/services/ledger/xrpl"
)

// ErrFork marks a ledger that is consistent in itself, and not the parent of the one above it.
var ErrFork = errors.New("not the parent that the ledger above it names")

// verifyBatch is how many answers a verifier takes at a time.
const verifyBatch = 64

// verify proves each answer of the queue without other ledgers, until the queue is closed.
func (r *run) verify(ctx context.Context) error {
	verifier := xrpl.NewVerifier()
	batch := make([]*item, verifyBatch)
	for {
		n := r.receive(batch)
		if n == 0 {
			return nil
		}
		begin := time.Now()
		for _, it := range batch[:n] {
			if ctx.Err() != nil {
				continue // empty the queue, so that no fetcher blocks on it
			}
			if err := r.prove(it, verifier); err != nil {
				r.wrong(it, err)
				continue
			}
			r.arrive(it)
		}
		clear(batch[:n])
		since(&r.Watch.verifying, begin)
	}
}

// receive takes as many answers as wait in the queue, at least one. It returns 0 when the queue is
// closed and empty.
func (r *run) receive(batch []*item) (n int) {
	it, ok := <-r.queue
	for ok {
		batch[n] = it
		if n++; n == len(batch) {
			break
		}
		select {
		case it, ok = <-r.queue:
		default:
			ok = false
		}
	}
	return n
}

// prove checks an answer as far as that needs no other ledger. An answer that fails verification at
// L4 counts as wrong only if it is not the ledger that the one above names.
func (r *run) prove(it *item, verifier *xrpl.Verifier) (err error) {
	l := &it.answer.Ledger
	if r.Level == trust.L0 || r.headers {
		it.header, err = xrpl.ParseHeader(l.Header)
	} else {
		it.header, err = verifier.Ledger(l)
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
		// Link decides, by the hash, whether the server is at fault.
		n, it.sigErr = signing.Verify(l, r.Signatures)
		r.Watch.Signatures.Add(uint64(n))
	}
	it.proved = time.Now()
	return nil
}

// wrong records the fault against the answer's server and schedules a refetch from another.
func (r *run) wrong(it *item, err error) {
	r.recordFault(it, err)
	r.refetch(it, err)
	r.recycle(it)
}

func (r *run) recordFault(it *item, err error) {
	r.Watch.Wrong.Add(1)
	if it.kept != 0 {
		r.Inbox.Drop(it.kept)
	}
	it.from.RecordFault(reason(err))
	if r.Wrong != nil {
		r.Wrong(it.from.Name(), it.answer, err)
	}
}

// refetch schedules a fetch of the ledger from another server, unless a request by its hash has
// already brought a right answer.
func (r *run) refetch(it *item, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it.index > r.nextIndex {
		return // already linked
	}
	if r.verified[it.index] == it {
		delete(r.verified, it.index)
	}
	t := r.tried(it.index, fmt.Errorf("%s: %w", it.from.Name(), err))
	t.wrong = append(t.wrong, it.from)
	if r.verified[it.index] == nil {
		r.planner.Rejected(it.index, it.from, time.Now())
		r.Watch.Refetched.Add(1)
	}
	signal(r.wake)
}

// tried counts a failed attempt to fetch a ledger that is not linked yet. The caller holds mu.
func (r *run) tried(index uint32, err error) *tries {
	t := r.failures[index]
	if t == nil {
		t = new(tries)
		r.failures[index] = t
	}
	t.count++
	t.last, r.lastErr = err, err
	signal(r.linked) // the ledger may have used up its attempts
	return t
}

// reason is the label that counts a wrong answer: a few words, the same for errors of a kind.
func reason(err error) string {
	for _, kind := range []error{xrpl.ErrIndex, xrpl.ErrHash, xrpl.ErrRoot, signing.ErrSignature, signing.ErrKey, ErrFork, xrpl.ErrMalformed} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "wrong answer"
}

// arrive passes a verified answer to the linker, unless there is one already.
func (r *run) arrive(it *item) {
	it.from.Proved()
	r.mu.Lock()
	r.lastGood, r.lastErr = it.proved, nil
	first := r.planner.Arrived(it.index, it.proved)
	if first {
		r.verified[it.index] = it
	}
	r.mu.Unlock()
	if !first {
		r.recycle(it)
	}
	signal(r.wake)
	signal(r.linked)
}
