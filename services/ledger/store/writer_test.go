package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/xrpltest"
)

func opened(t *testing.T) *Store {
	t.Helper()
	s, err := Open("data", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestWriter(t *testing.T) {
	chain := xrpltest.Chain(1, 1, 200, 2)
	for _, batch := range []int{1, 8} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			s := opened(t)
			var stored, released atomic.Int64
			w := NewWriter(s, WriterOptions{Progress: Progress{From: 3}, Batch: batch, Stored: func(ledgers []*xrpl.Ledger) {
				n := len(ledgers)
				if n > batch {
					t.Errorf("%d ledgers in a batch", n)
				}
				stored.Add(int64(n))
			}})
			want := map[uint32]*xrpl.Ledger{}
			for i := len(chain) - 1; i >= 0; i-- {
				want[chain[i].Index] = chain[i]
				if err := w.Put(t.Context(), chain[i], func() { released.Add(1) }); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for index, w := range want {
				var l xrpl.Ledger
				if err := s.Ledger(index, &l); err != nil || l.Hash != w.Hash || len(l.Transactions) != 2 {
					t.Fatalf("ledger %d: %v", index, err)
				}
			}
			if s.Progress().From != 3 || stored.Load() != 200 || released.Load() != 200 {
				t.Fatalf("progress %v, %d stored, %d released", s.Progress(), stored.Load(), released.Load())
			}
		})
	}
}

// After a failed batch no more ledgers are stored: they would leave a hole.
func TestWriterStopsAtTheFirstFailure(t *testing.T) {
	chain := xrpltest.Chain(1, 1, 3*queued, 2)
	s := opened(t)
	const inTheWay = 3*queued - 50
	if err := s.Append(xrpltest.Chain(2, inTheWay, 1, 2), Progress{From: 1, To: 1000}); err != nil {
		t.Fatal(err)
	}
	var released atomic.Int64
	w := NewWriter(s, WriterOptions{Batch: 4})
	put, failed := 0, error(nil)
	for i := len(chain) - 1; i >= 0; i-- {
		put++
		if err := w.Put(t.Context(), chain[i], func() { released.Add(1) }); err != nil {
			failed = err
		}
	}
	if err := w.Close(); !errors.Is(err, ErrConflict) {
		t.Fatalf("closed with %v", err)
	}
	if failed != nil && !errors.Is(failed, ErrConflict) {
		t.Fatalf("put ended with %v", failed)
	}
	if released.Load() != int64(put) {
		t.Fatalf("%d of %d were released", released.Load(), put)
	}
	if len(s.Stored().Missing(s.Stored()[len(s.Stored())-1])) != 0 {
		t.Fatalf("stored are %v", s.Stored())
	}
	for i := range uint32(inTheWay - 1) {
		if s.Stored().Has(i + 1) {
			t.Fatalf("stored are %v, below what failed", s.Stored())
		}
	}
}

func TestPutEndsWithItsContext(t *testing.T) {
	s := opened(t)
	w := &Writer{store: s, queue: make(chan put), failed: make(chan struct{})} // without a receiver
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	released := false
	if err := w.Put(ctx, xrpltest.Chain(1, 1, 1, 1)[0], func() { released = true }); !errors.Is(err, context.Canceled) || !released {
		t.Fatal(err, released)
	}
}
