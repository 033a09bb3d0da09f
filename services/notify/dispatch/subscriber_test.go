package dispatch

import (
	"testing"

	"dyno/parts/wal"
	"dyno/services/notify/notice"
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

// The journal hears of a change while the subscriber is locked: otherwise a checkpoint at that
// moment would write the old state after the change, and a restart would bring it back.
func TestChangesAreWrittenUnderTheLock(t *testing.T) {
	var sub *subscriber // none before it is made
	heard := 0
	m := newTestMaintainer(t, func(_ string, b wal.Backend) wal.Backend {
		return &tapped{b, func([]byte) {
			heard++
			if sub != nil && sub.mu.TryLock() {
				sub.mu.Unlock()
				t.Error("the subscriber could be written down as it was before")
			}
		}}
	})
	id, j, table := m.mustSubscribe(t), m.options.Store.Journal, m.options.Table
	for seq := range uint64(2) {
		record := (&notice.Notice{ID: "n", Key: "k", Type: "t", Payload: []byte("1")}).AppendRecord(nil)
		if _, err := j.AddDeadLetter(id, subscription.DeadLetter{Seq: seq + 1}, record); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Save(); err != nil { // so that the letters are written
		t.Fatal(err)
	}
	sub = table.get(id)
	for _, change := range []struct {
		what string
		do   func() error
	}{
		{"redefined", func() error {
			_, err := table.change(id, func(def *subscription.Definition) error { def.URL = "http://192.0.2.1/b"; return nil })
			return err
		}},
		{"replayed", func() error { return table.Replay(id, 1) }},
		{"purged", func() error { return table.Purge(id, 2) }},
		{"deleted", func() error { return table.Unsubscribe(id) }},
	} {
		heard = 0
		if err := change.do(); err != nil || heard != 1 {
			t.Errorf("%s: written %d times, %v", change.what, heard, err)
		}
	}
}
