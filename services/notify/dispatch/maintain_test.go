package dispatch

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"dyno/parts/wal"
	"dyno/parts/wal/memory"
	"dyno/services/notify/journal"
	"dyno/services/notify/subscription"
)

// unreliable is a journal's backend that cannot read one of its records.
type unreliable struct {
	wal.Backend
	damaged atomic.Uint64
}

func (u *unreliable) Scan(from uint64, visit func(uint64, []byte) error) error {
	bad := u.damaged.Load()
	return u.Backend.Scan(from, func(seq uint64, record []byte) error {
		if seq == bad {
			return &wal.DamageError{From: seq, Next: seq + 1, Where: "here"}
		}
		return visit(seq, record)
	})
}

// Size is what makes a checkpoint carry dead letters over.
func (u *unreliable) Size() int64 { return 1 << 40 }

// trimmed is a backend that calls a function before it removes records.
type trimmed struct {
	wal.Backend
	before func()
}

func (b *trimmed) Trim(before uint64) error {
	b.before()
	return b.Backend.Trim(before)
}

// newTestMaintainer makes a maintainer of no subscriptions, on logs in memory that wrap gets to
// change.
func newTestMaintainer(t *testing.T, wrap func(name string, b wal.Backend) wal.Backend) *Maintainer {
	t.Helper()
	s, _, err := OpenStore(StoreOptions{
		Log: "segment", Commit: "group", DeadLetters: 10, DeadBytes: 1 << 20, Logger: slog.New(slog.DiscardHandler),
		Backend: func(_ StoreOptions, name string) (wal.Backend, error) { return wrap(name, memory.New()), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	d, err := NewDeliverer(DelivererOptions{Store: s, Batching: "single"})
	if err != nil {
		t.Fatal(err)
	}
	return NewMaintainer(MaintainerOptions{Store: s, Table: NewTable(TableOptions{Store: s, Deliverer: d, AllowPrivate: true})})
}

// mustSubscribe makes a subscription.
func (m *Maintainer) mustSubscribe(t *testing.T) (id string) {
	t.Helper()
	address := "http://192.0.2.1/a"
	def, _, err := m.options.Table.Subscribe(SubscriptionRequest{URL: &address})
	if err != nil {
		t.Fatal(err)
	}
	return def.ID
}

// A log removes no file while a backup may read it, however short space is.
func TestTrimmingExcludesBackups(t *testing.T) {
	var m *Maintainer
	trims := 0
	m = newTestMaintainer(t, func(_ string, b wal.Backend) wal.Backend {
		return &trimmed{b, func() {
			if trims++; m.saving.TryLock() {
				m.saving.Unlock()
				t.Error("records are removed while a backup may begin")
			}
		}}
	})
	s := m.options.Store
	if _, err := s.Notices.Append([][]byte{{1}, {2}}, func(first uint64) { s.head.Store(first + 2) }); err != nil {
		t.Fatal(err)
	}
	m.checkpoint.need = 2
	if err := m.relieve(); err != nil || trims == 0 {
		t.Errorf("%v, %d times trimmed", err, trims)
	}
}

// A dead letter that cannot be read does not keep the log of notices from getting shorter.
func TestDamagedDeadLetterBlocksNoCheckpoint(t *testing.T) {
	u := new(unreliable)
	m := newTestMaintainer(t, func(name string, b wal.Backend) wal.Backend {
		if name == JournalName {
			u.Backend = b
			return u
		}
		return b
	})
	id, j := m.mustSubscribe(t), m.options.Store.Journal
	if _, err := j.AddDeadLetter(id, subscription.DeadLetter{Seq: 1}, []byte("record")); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(); err != nil {
		t.Fatal(err)
	}
	u.damaged.Store(j.DeadLetters(id)[0].Where)
	m.checkpoint.at = time.Time{}
	if err := m.Save(); !errors.Is(err, journal.ErrUnread) {
		t.Fatalf("save: %v", err)
	}
	if m.checkpoint.at.IsZero() {
		t.Error("the checkpoint does not count")
	}
}
