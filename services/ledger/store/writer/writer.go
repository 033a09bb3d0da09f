// Package writer stores ledgers in the background, in batches, in the order in which they come. It
// is not for proving them. Its goroutines are a writer's, which Close ends.
package writer

import (
	"cmp"
	"context"
	"sync"

	"dyno/services/ledger/store"
	"dyno/services/ledger/xrpl"
)

// Options configure a Writer. Its zero values are the documented defaults.
type Options struct {
	Progress store.Progress
	Writers  int // batches prepared concurrently; 0: 1
	Queue    int // queued ledgers; 0: 128
	Batch    int // maximum of queued ledgers in a batch, which is synced once; 0: 32

	// Stored is called with every durable batch, by the writer's goroutines. Nil: not called.
	Stored func(ledgers []*xrpl.Ledger)
}

type put struct {
	ledger  *xrpl.Ledger
	release func()
}

// Writer stores ledgers in the background. Its goroutines take batches from the queue in order,
// encode them concurrently and apply them in the order of taking, so that a crash loses the last
// ones and leaves no hole.
type Writer struct {
	store   *store.Store
	o       Options
	queue   chan put
	workers sync.WaitGroup

	take sync.Mutex // held while a batch is taken from the queue
	next uint64     // guarded by take: number of the next batch

	turns  sync.Cond
	turn   uint64        // guarded by turns.L: number of the batch that may be applied
	failed chan struct{} // closed when err is set
	err    error         // guarded by turns.L until failed is closed
}

// New starts a Writer.
func New(s *store.Store, o Options) *Writer {
	o.Writers, o.Queue, o.Batch = cmp.Or(o.Writers, 1), cmp.Or(o.Queue, 128), cmp.Or(o.Batch, 32)
	w := &Writer{store: s, o: o, queue: make(chan put, o.Queue), failed: make(chan struct{})}
	w.turns.L = &sync.Mutex{}
	for range o.Writers {
		w.workers.Go(w.work)
	}
	return w
}

// Put passes a ledger on, to be stored after those of earlier calls; it blocks while the queue is
// full. The ledger belongs to the writer until release, which the writer calls once, from any
// goroutine, when the ledger is durable or will not be stored. After an error no more ledgers are
// stored. Only one goroutine may call Put and Close.
func (w *Writer) Put(ctx context.Context, l *xrpl.Ledger, release func()) error {
	select {
	case <-w.failed:
		release()
		return w.err
	default:
	}
	select {
	case w.queue <- put{l, release}:
		return nil
	case <-w.failed:
		release()
		return w.err
	case <-ctx.Done():
		release()
		return ctx.Err()
	}
}

// Close stores the queued ledgers and ends the writer. It returns the first error.
func (w *Writer) Close() error {
	close(w.queue)
	w.workers.Wait()
	return w.err
}

func (w *Writer) work() {
	puts := make([]put, 0, w.o.Batch)
	ledgers := make([]*xrpl.Ledger, 0, w.o.Batch)
	for {
		var turn uint64
		if puts, turn = w.collect(puts[:0]); len(puts) == 0 {
			return
		}
		ledgers = ledgers[:0]
		for _, p := range puts {
			ledgers = append(ledgers, p.ledger)
		}
		if w.append(ledgers, turn) && w.o.Stored != nil {
			w.o.Stored(ledgers)
		}
		for _, p := range puts {
			p.release()
		}
		clear(puts)
	}
}

// collect takes the queued ledgers, at least one unless the queue is closed, and a turn.
func (w *Writer) collect(puts []put) ([]put, uint64) {
	w.take.Lock()
	defer w.take.Unlock()
	first, ok := <-w.queue
	if !ok {
		return puts, 0
	}
	puts = append(puts, first)
	for len(puts) < w.o.Batch {
		select {
		case p, ok := <-w.queue:
			if ok {
				puts = append(puts, p)
				continue
			}
		default:
		}
		break
	}
	w.next++
	return puts, w.next - 1
}

// append stores ledgers in their turn, and returns whether they are durable.
func (w *Writer) append(ledgers []*xrpl.Ledger, turn uint64) bool {
	b, err := w.store.Prepare(ledgers)
	w.await(turn)
	select {
	case <-w.failed: // a later batch would leave a hole after a failed one
		if err == nil {
			b.Close()
		}
		w.pass(w.err)
		return false
	default:
	}
	if err == nil {
		err = w.store.Commit(b, w.o.Progress)
	}
	w.pass(err)
	return err == nil
}

func (w *Writer) await(turn uint64) {
	w.turns.L.Lock()
	defer w.turns.L.Unlock()
	for w.turn != turn {
		w.turns.Wait()
	}
}

// pass gives the turn to the next batch.
func (w *Writer) pass(err error) {
	if err != nil {
		w.fail(err)
	}
	w.turns.L.Lock()
	defer w.turns.L.Unlock()
	w.turn++
	w.turns.Broadcast()
}

func (w *Writer) fail(err error) {
	w.turns.L.Lock()
	defer w.turns.L.Unlock()
	if w.err == nil {
		w.err = err
		close(w.failed)
	}
}
