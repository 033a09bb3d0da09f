package dispatch

import (
	"bytes"
	"sync"
	"testing"

	"dyno/parts/wal"
	"dyno/services/notify/subscription"
)

// tapped is a log's backend that shows what is written to it.
type tapped struct {
	wal.Backend
	wrote func(record []byte)
}

func (w *tapped) Write(batches [][][]byte) error {
	for _, batch := range batches {
		for _, record := range batch {
			w.wrote(record)
		}
	}
	return w.Backend.Write(batches)
}

// The journal hears of a change while the subscription is locked: otherwise a checkpoint at that
// moment would write the old definition after the new one, and a restart would bring the old one
// back.
func TestChangeIsWrittenUnderItsLock(t *testing.T) {
	var sub *subscriber // none before it is made
	var first sync.Once
	heard := false
	m := newTestMaintainer(t, func(_ string, b wal.Backend) wal.Backend {
		return &tapped{b, func(record []byte) {
			if !bytes.Contains(record, []byte("192.0.2.1/b")) {
				return
			}
			first.Do(func() { // what comes later is a checkpoint's
				heard = true
				if sub.mu.TryLock() {
					sub.mu.Unlock()
					t.Error("the subscription could be written down as it was before")
				}
			})
		}}
	})
	id := m.mustSubscribe(t)
	sub = m.Table.get(id)
	_, err := m.Table.Change(id, func(def *subscription.Definition) error { def.URL = "http://192.0.2.1/b"; return nil })
	if err != nil || !heard {
		t.Fatalf("written: %v, %v", heard, err)
	}
}
