package backfill

import (
	"errors"
	"time"
	"unsafe"

	"dyno/services/ledger/servers/response"
	"dyno/services/ledger/xrpl"
)

// pooled is the weight up to which an answer's memory is reused: five modern ledgers. Larger memory
// would stay with each answer of the window, however small the later ones are.
const pooled = 1 << 20 // bytes

// weight is the memory of an answer as Config.WindowBytes counts it, in bytes. The wire bytes are
// hex, so the decoded memory takes half of them; the other half allows for memory that was larger
// before.
func weight(a *response.Answer) int64 {
	return int64(a.Bytes) + int64(cap(a.Transactions))*int64(unsafe.Sizeof(xrpl.Transaction{}))
}

// put hands an answer to the verifiers, and reports whether the queue had room. The answer's memory
// counts as held until recycle.
func (r *run) put(it *item) bool {
	it.held = weight(it.answer)
	r.held.Add(it.held)
	select {
	case r.queue <- it:
		return true
	default:
		return false
	}
}

func (r *run) recycle(it *item) {
	a := it.answer
	it.answer = nil
	if weight(a) <= pooled {
		r.answers.Put(a)
	}
	if before := r.held.Add(-it.held) + it.held; before >= r.WindowBytes {
		signal(r.wake)
	}
}

// next returns the shard to fetch now, if there is room for answers. The caller holds mu.
func (r *run) next(now time.Time) (s shard, ok bool) {
	if r.full() && !r.planner.Idle(r.nextIndex) {
		return s, false
	}
	return r.planner.Next(now)
}

var errNoRoom = errors.New("answers use all of their permitted memory")

// room says whether a ledger may be requested. The next ledger to be linked always may: without it
// no memory is ever released.
func (r *run) room(index uint32) bool {
	if !r.full() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return index == r.nextIndex
}

func (r *run) full() bool { return r.held.Load() >= r.WindowBytes }
