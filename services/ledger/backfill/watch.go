package backfill

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"dyno/services/ledger/shard"
)

// Watch counts what a backfill does, over one Run or several. Its numbers may be read at any time.
type Watch struct {
	Ledgers      atomic.Uint64 // linked and given to the sink
	Bytes        atomic.Uint64 // of answers, as they came over the wire
	Transactions atomic.Uint64 // of these ledgers
	Signatures   atomic.Uint64 // that were checked
	Refetched    atomic.Uint64 // ledgers that were asked for again because the answer was wrong, or did not come; hedges are none of these
	Wrong        atomic.Uint64 // answers that were proved wrong
	Marked       atomic.Uint64 // ledgers that were linked and do not verify at L4

	// How long the stages' goroutines were in what they wait for or work at, in ns, summed over them.
	answering atomic.Int64 // fetchers: for a server's answer
	verifying atomic.Int64 // verifiers: busy
	sinking   atomic.Int64 // the linker: for the sink

	// Each is called with every ledger that was linked, in order, with the time from its request to its proof. Nil: nobody is told.
	Each func(index uint32, took time.Duration, bytes int)

	mu      sync.Mutex
	latency *hdrhistogram.Histogram // us, from request to proof
	shards  shard.Stats
}

// NewWatch returns a Watch that has seen nothing.
func NewWatch() *Watch {
	return &Watch{latency: hdrhistogram.New(1, time.Hour.Microseconds(), 3)}
}

func (w *Watch) linked(it *item) {
	w.Ledgers.Add(1)
	w.Bytes.Add(uint64(it.answer.Bytes))
	w.Transactions.Add(uint64(len(it.answer.Transactions)))
	took := it.proved.Sub(it.asked)
	w.mu.Lock()
	w.latency.RecordValue(max(1, took.Microseconds()))
	w.mu.Unlock()
	if w.Each != nil {
		w.Each(it.index, took, it.answer.Bytes)
	}
}

// Quantile is of the time from a ledger's request to its proof: 0.95 is P95. 0 before the first.
func (w *Watch) Quantile(q float64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.latency.ValueAtQuantile(100*q)) * time.Microsecond
}

// Shards is what was handed out to be fetched, and how; its Size and P95 are those of the last Run.
func (w *Watch) Shards() shard.Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shards
}

// planned takes note of what a planner has done since it was looked at before.
func (w *Watch) planned(now, before shard.Stats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shards = now.Since(before, w.shards)
}

// Times says how much time passed in the stages so far, summed over their goroutines.
func (w *Watch) Times() (answering, verifying, sinking time.Duration) {
	return time.Duration(w.answering.Load()), time.Duration(w.verifying.Load()), time.Duration(w.sinking.Load())
}

func since(sum *atomic.Int64, begin time.Time) { sum.Add(int64(time.Since(begin))) }
