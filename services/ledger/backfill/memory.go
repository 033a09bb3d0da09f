package backfill

import (
	"errors"
	"time"
	"unsafe"

	"dyno/parts/queue"
	"dyno/parts/xrpl"
	"dyno/services/ledger/rippled"
	"dyno/services/ledger/shard"
)

// pooled is the weight up to which an answer's memory is used again: five modern ledgers'. What a larger one took would
// otherwise stay with each answer of the window, however small those are that come after it.
const pooled = 1 << 20 // bytes

// weight is what an answer is counted as in Config.WindowBytes. Its bytes are hex, so that the memory they are decoded into
// takes half of them; the other half allows for memory that was larger before.
func weight(a *rippled.Answer) int64 {
	return int64(a.Bytes) + int64(cap(a.Transactions))*int64(unsafe.Sizeof(xrpl.Transaction{}))
}

// weighed is a queue that counts what goes in as held, which it is until it is recycled.
type weighed struct {
	queue.Queue[*item]
	run *run
}

func (w weighed) Put(hash uint64, it *item) bool {
	it.held = weight(it.answer)
	w.run.held.Add(it.held)
	return w.Queue.Put(hash, it)
}

// recycle gives an answer's memory back.
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

// next is the shard to fetch now, if there is room for answers. It is called with mu held.
func (r *run) next(now time.Time) (s shard.Shard, ok bool) {
	if r.full() && !r.planner.Idle(r.due) {
		return s, false
	}
	return r.planner.Next(now)
}

var errNoRoom = errors.New("answers hold as much memory as they may")

// room says whether a ledger may be asked for. One that is due always may: without it nothing is ever released.
func (r *run) room(index uint32) bool {
	if !r.full() {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return index == r.due
}

// full says whether answers hold as much memory as they may.
func (r *run) full() bool { return r.held.Load() >= r.WindowBytes }
