package store

import (
	"context"

	"dyno/services/ledger/xrpl"
)

// WriterOptions configure a Writer.
type WriterOptions struct {
	Progress Progress
	Batch    int // maximum of queued ledgers in a batch, which is synced once

	// Stored is called with every durable batch, by the writer's goroutine. Nil: not called.
	Stored func(ledgers []*xrpl.Ledger)
}

type put struct {
	ledger  *xrpl.Ledger
	release func()
}

// queued is how many ledgers wait to be stored before Put blocks.
const queued = 128

// Writer stores ledgers in the background. Its goroutine takes batches from the queue and stores
// them one after the other, so that a crash loses the last ones and leaves no hole.
type Writer struct {
	store  *Store
	o      WriterOptions
	queue  chan put
	done   chan struct{} // closed when the goroutine has ended
	failed chan struct{} // closed when err is set
	err    error         // the goroutine's until failed or done is closed
}

// NewWriter starts a Writer.
func NewWriter(s *Store, o WriterOptions) *Writer {
	w := &Writer{store: s, o: o, queue: make(chan put, queued), done: make(chan struct{}), failed: make(chan struct{})}
	go w.work()
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
	<-w.done
	return w.err
}

func (w *Writer) work() {
	defer close(w.done)
	puts := make([]put, 0, w.o.Batch)
	ledgers := make([]*xrpl.Ledger, 0, w.o.Batch)
	for {
		if puts = w.collect(puts[:0]); len(puts) == 0 {
			return
		}
		ledgers = ledgers[:0]
		for _, p := range puts {
			ledgers = append(ledgers, p.ledger)
		}
		if w.append(ledgers) && w.o.Stored != nil {
			w.o.Stored(ledgers)
		}
		for _, p := range puts {
			p.release()
		}
		clear(puts)
	}
}

// collect takes the queued ledgers, at least one unless the queue is closed.
func (w *Writer) collect(puts []put) []put {
	first, ok := <-w.queue
	if !ok {
		return puts
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
	return puts
}

// append stores ledgers, and returns whether they are durable. After a failure it stores none: a
// later batch would leave a hole.
func (w *Writer) append(ledgers []*xrpl.Ledger) bool {
	if w.err != nil {
		return false
	}
	if w.err = w.store.Append(ledgers, w.o.Progress); w.err != nil {
		close(w.failed)
		return false
	}
	return true
}
