package mirror

import (
	"slices"
	"sync"

	"dyno/services/ledger/mirror/mirrorpb"
	"dyno/services/ledger/xrpl"
)

// recent are the newest ledgers, in memory and ready to send, bounded by number and bytes. All
// streams share them, and they are never changed. It also wakes streams that wait for a ledger.
type recent struct {
	count int
	bytes int64

	mu      sync.Mutex
	ledgers map[uint32]*mirrorpb.Ledger
	order   []uint32 // in order of arrival: ascending
	size    int64
	changed chan struct{} // closed when a ledger was stored
}

func newRecent(count int, bytes int64) *recent {
	return &recent{count: count, bytes: bytes, ledgers: map[uint32]*mirrorpb.Ledger{}, changed: make(chan struct{})}
}

// publish keeps the ledgers that are newer than all kept ones (streams get a backfill's ledgers
// from the store) and wakes all waiting streams.
func (r *recent) publish(ledgers []*xrpl.Ledger, keep bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range ledgers {
		if n := len(r.order); keep && (n == 0 || l.Index > r.order[n-1]) {
			own := *l
			own.Transactions = slices.Clone(l.Transactions)
			_ = xrpl.SortByIndex(own.Transactions) // the store's order; a ledger that cannot be sorted is not stored
			r.add(message(&own, true))
		}
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recent) add(l *mirrorpb.Ledger) {
	r.ledgers[l.Index] = l
	r.order = append(r.order, l.Index)
	r.size += size(l)
	for len(r.order) > r.count || r.size > r.bytes {
		oldest := r.order[0]
		r.size -= size(r.ledgers[oldest])
		delete(r.ledgers, oldest)
		r.order = r.order[1:]
	}
}

// get returns a ledger, or nil. The channel is closed when a ledger is stored after the call.
func (r *recent) get(index uint32) (*mirrorpb.Ledger, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledgers[index], r.changed
}

// message is a ledger in the wire format; it copies the bytes or shares the ledger's.
func message(l *xrpl.Ledger, copied bool) *mirrorpb.Ledger {
	bytes := func(b []byte) []byte {
		if copied {
			return append([]byte(nil), b...)
		}
		return b
	}
	out := &mirrorpb.Ledger{Index: l.Index, Hash: append([]byte(nil), l.Hash[:]...), Header: bytes(l.Header)}
	out.Transactions = make([]*mirrorpb.Transaction, len(l.Transactions))
	all := make([]mirrorpb.Transaction, len(l.Transactions)) // one allocation instead of one each
	for i, tx := range l.Transactions {
		all[i].Blob, all[i].Meta = bytes(tx.Blob), bytes(tx.Meta)
		out.Transactions[i] = &all[i]
	}
	return out
}

// size is the memory of a ledger in bytes, without Go's overhead.
func size(l *mirrorpb.Ledger) (n int64) {
	n = int64(len(l.Hash) + len(l.Header))
	for _, tx := range l.Transactions {
		n += int64(len(tx.Blob) + len(tx.Meta))
	}
	return n
}
