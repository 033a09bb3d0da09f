package notify

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"dyno/parts/assembly"
	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/journal"
	"dyno/services/notify/subscription"
)

// tapped is a journal's backend that shows what is written to it, and cannot read one of its
// records.
type tapped struct {
	wal.Backend
	wrote   func(record []byte)
	damaged atomic.Uint64
}

func (w *tapped) Write(batches [][][]byte) error {
	for _, batch := range batches {
		for _, record := range batch {
			if w.wrote != nil {
				w.wrote(record)
			}
		}
	}
	return w.Backend.Write(batches)
}

func (w *tapped) Scan(from uint64, visit func(uint64, []byte) error) error {
	bad := w.damaged.Load()
	return w.Backend.Scan(from, func(seq uint64, record []byte) error {
		if seq == bad {
			return &wal.DamageError{From: seq, Next: seq + 1, Where: "here"}
		}
		return visit(seq, record)
	})
}

// Size is what makes a checkpoint carry dead letters over.
func (w *tapped) Size() int64 { return 1 << 40 }

// tap is a dispatcher with one subscription, whose journal is tapped, and that writes checkpoints
// only on request.
func tap(t *testing.T) (*Dispatcher, *dispatch.Subscription, *tapped) {
	t.Helper()
	choice, err := Assembly().Resolve(assembly.Tuned, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &tapped{Backend: memory.New()}
	c := FromChoice(choice)
	c.AllowPrivate, c.testing.withoutKeeping = true, true
	c.testing.openBackend = func(_ dispatch.StoreOptions, name string) (wal.Backend, error) {
		if name == dispatch.JournalName {
			return w, nil
		}
		return memory.New(), nil
	}
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := d.Close(context.Background()); err != nil && !errors.Is(err, journal.ErrUnread) {
			t.Error(err)
		}
	})
	url := "http://192.0.2.1/a"
	sub, _, err := d.table.Subscribe(dispatch.SubscriptionRequest{URL: &url})
	if err != nil {
		t.Fatal(err)
	}
	return d, sub, w
}

// The journal hears of a change while the subscription is locked: otherwise a checkpoint at that
// moment would write the old definition after the new one, and a restart would bring the old one
// back.
func TestChangeIsWrittenUnderItsLock(t *testing.T) {
	d, sub, w := tap(t)
	var first sync.Once
	heard := false
	w.wrote = func(record []byte) {
		if !bytes.Contains(record, []byte("192.0.2.1/b")) {
			return
		}
		first.Do(func() { // what comes later is a checkpoint's
			heard = true
			if sub.Mu.TryLock() {
				sub.Mu.Unlock()
				t.Error("the subscription could be written down as it was before")
			}
		})
	}
	_, err := d.table.Change(sub.ID, func(def *subscription.Definition) error { def.URL = "http://192.0.2.1/b"; return nil })
	if err != nil || !heard {
		t.Fatalf("written: %v, %v", heard, err)
	}
}
