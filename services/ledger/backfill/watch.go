package backfill

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Watch holds the counters of one Run or several. They may be read at any time.
type Watch struct {
	Ledgers      atomic.Uint64 // ledgers linked and passed to the Sink
	Bytes        atomic.Uint64 // bytes of answers as received
	Transactions atomic.Uint64 // transactions of the linked ledgers
	Signatures   atomic.Uint64 // signatures checked
	// Refetched is the number of ledgers requested again because the answer was wrong or did not
	// come.
	Refetched atomic.Uint64
	Wrong     atomic.Uint64 // answers proved wrong
	Marked    atomic.Uint64 // ledgers linked that fail verification at L4

	// Time in each stage, in ns, summed over its goroutines.
	answering atomic.Int64 // fetchers waiting for a server's answer
	verifying atomic.Int64 // verifiers at work
	sinking   atomic.Int64 // the linker waiting for the Sink

	// Each is called with every linked ledger, in order, with the time from its request to its
	// proof. Nil: not called.
	Each func(index uint32, took time.Duration, bytes int)

	mu      sync.Mutex
	latency *hdrhistogram.Histogram // us, from request to proof
	shards  ShardStats
}

// NewWatch returns a Watch with all counters at zero.
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

// Quantile is a quantile of the time from a ledger's request to its proof: 0.95 is P95. It is 0
// before the first ledger.
func (w *Watch) Quantile(q float64) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.latency.ValueAtQuantile(100*q)) * time.Microsecond
}

// Shards counts the shards that were handed out; its Size and P95 are those of the last Run.
func (w *Watch) Shards() ShardStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shards
}

func (w *Watch) planned(now, before ShardStats) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shards = now.Since(before, w.shards)
}

// Times returns the time spent in the stages so far, summed over their goroutines.
func (w *Watch) Times() (answering, verifying, sinking time.Duration) {
	return time.Duration(w.answering.Load()), time.Duration(w.verifying.Load()), time.Duration(w.sinking.Load())
}

func since(sum *atomic.Int64, begin time.Time) { sum.Add(int64(time.Since(begin))) }
