package wal

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a backend whose results a test sets. Its records are strings.
type scripted struct {
	mu      sync.Mutex
	stored  []string
	synced  int
	writes  [][]string // arguments of each Write
	syncs   int
	fail    error // of Write
	failing error // of Sync, which then removes what was not synced
	hold    chan struct{}
	began   chan struct{} // signalled when a Sync waits for hold
}

func (b *scripted) Write(batches [][][]byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var got []string
	for _, record := range slices.Concat(batches...) {
		got = append(got, string(record))
	}
	b.writes = append(b.writes, got)
	if b.fail == nil {
		b.stored = append(b.stored, got...)
	}
	return b.fail
}

func (b *scripted) Sync() error {
	if b.hold != nil {
		b.began <- struct{}{}
		<-b.hold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.syncs++
	if b.failing != nil {
		b.stored = b.stored[:b.synced]
		return b.failing
	}
	b.synced = len(b.stored)
	return nil
}

func (b *scripted) Scan(from uint64, visit func(uint64, []byte) error) error {
	b.mu.Lock()
	stored := slices.Clone(b.stored)
	b.mu.Unlock()
	for i := from; i <= uint64(len(stored)); i++ {
		if err := visit(i, []byte(stored[i-1])); errors.Is(err, ErrStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (b *scripted) Bounds() (uint64, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return 1, uint64(len(b.stored) + 1)
}

func (b *scripted) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// counts returns the calls so far.
func (b *scripted) counts() (writes, syncs, synced int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.writes), b.syncs, b.synced
}

func (b *scripted) Size() int64       { return 0 }
func (b *scripted) Trim(uint64) error { return nil }
func (b *scripted) Close() error      { return nil }

func one(s string) [][]byte { return [][]byte{[]byte(s)} }

// While the first group is being synced, 100 appends arrive: in Group mode they share one more
// sync, otherwise each has its own.
func TestSyncsShared(t *testing.T) {
	for commit, want := range map[Commit]uint64{Group: 2, PerAppend: 101} {
		synctest.Test(t, func(t *testing.T) {
			b := &scripted{hold: make(chan struct{}), began: make(chan struct{})}
			l := New(b, Options{Commit: commit})
			var wg sync.WaitGroup
			add := func() {
				if _, err := l.Append(one("x"), nil); err != nil {
					t.Error(err)
				}
			}
			wg.Go(add)
			<-b.began
			for range 100 {
				wg.Go(add)
			}
			synctest.Wait()
			if l.Scan(1, func(uint64, []byte) error { t.Error("a record was read before its sync"); return nil }) != nil {
				t.Error("Scan failed")
			}
			close(b.hold)
			go func() {
				for range b.began { // lets the later syncs pass
				}
			}()
			wg.Wait()
			if s := l.Stats(); s.Syncs != want || s.Groups != want || s.Records != 101 || int(want) != b.syncs {
				t.Errorf("commit %d: %+v, %d syncs; want %d", commit, s, b.syncs, want)
			}
			l.Close()
			close(b.began)
		})
	}
}

// All callers in a group receive its error, and the next group has the same numbers.
func TestGroupFails(t *testing.T) {
	for _, at := range []string{"write", "sync"} {
		synctest.Test(t, func(t *testing.T) {
			b := &scripted{}
			l := New(b, Options{Commit: Group})
			defer l.Close()
			broken := fmt.Errorf("%w: really", ErrFull)
			if at == "write" {
				b.fail = broken
			} else {
				b.failing = broken
			}
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					_, err := l.Append(one("lost"), func(uint64) { t.Error("the callback of an append that failed was called") })
					if !errors.Is(err, ErrFull) {
						t.Errorf("Append: %v", err)
					}
				})
			}
			wg.Wait()
			if err := l.Sync(); at == "sync" && !errors.Is(err, ErrFull) {
				t.Errorf("Sync: %v", err)
			}
			b.set(func() { b.fail, b.failing = nil, nil })
			if first, err := l.Append(one("kept"), nil); first != 1 || err != nil {
				t.Errorf("when there is space again Append gives %d, %v", first, err)
			}
		})
	}
}

// An asynchronous batch is written immediately and synced within SyncEvery.
func TestAsyncSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &scripted{}
		l := New(b, Options{SyncEvery: time.Second})
		defer l.Close()
		time.Sleep(10 * time.Second) // an idle log does nothing
		committed := uint64(0)
		if err := l.AppendAsync(one("a"), func(first uint64) { committed = first }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if writes, syncs, _ := b.counts(); committed != 1 || syncs != 0 || writes != 1 {
			t.Fatalf("immediately: %d callbacks, %d syncs, %d writes", committed, syncs, writes)
		}
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if _, syncs, synced := b.counts(); synced != 1 || syncs != 1 {
			t.Fatalf("a second later: %d records synced by %d syncs", synced, syncs)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, syncs, _ := b.counts(); syncs != 1 {
			t.Fatalf("%d syncs, and nothing to sync", syncs)
		}
	})
}

// An asynchronous record keeps its number through failed writes and syncs: it is written before
// everything else.
func TestAsyncAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &scripted{}
		l := New(b, Options{Commit: Group})
		var committed []uint64
		then := func(first uint64) { committed = append(committed, first) }
		lazy := func(s string) {
			if err := l.AppendAsync(one(s), then); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		lazy("a")
		b.set(func() { b.failing = errors.New("sync is broken") })
		if _, err := l.Append(one("refused"), then); err == nil {
			t.Fatal("Append did not fail")
		}
		b.set(func() { b.failing, b.fail = nil, ErrFull })
		lazy("b")
		if first, next := l.Bounds(); first != 1 || next != 2 {
			t.Fatalf("bounds %d, %d: the first lazy record was committed, and nothing else", first, next)
		}
		b.set(func() { b.fail = nil })
		if first, err := l.Append(one("c"), then); first != 3 || err != nil {
			t.Fatalf("Append gave %d, %v", first, err)
		}
		lazy("d")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(b.stored, []string{"a", "b", "c", "d"}) || b.synced != 4 || !slices.Equal(committed, []uint64{1, 2, 3, 4}) {
			t.Fatalf("stored %v, %d synced, callbacks %v", b.stored, b.synced, committed)
		}
	})
}

// After an error the log retries the asynchronous records on its own, once every SyncEvery.
func TestAsyncRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &scripted{fail: ErrFull}
		l := New(b, Options{SyncEvery: time.Second})
		if err := l.AppendAsync(one("a"), nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		if n, _, _ := b.counts(); n < 3 || n > 4 {
			t.Fatalf("%d attempts in 3 s", n)
		}
		b.set(func() { b.fail = nil })
		time.Sleep(time.Second)
		synctest.Wait()
		if _, _, synced := b.counts(); synced != 1 {
			t.Fatalf("%d records synced when there is space again", synced)
		}
		b.set(func() { b.fail = ErrFailed })
		l.Append(one("b"), nil)
		if err := l.AppendAsync(one("c"), nil); !errors.Is(err, ErrFailed) {
			t.Fatalf("AppendAsync on a failed log: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Close returns the error when records could not be stored.
func TestCloseFails(t *testing.T) {
	l := New(&scripted{fail: ErrFull}, Options{})
	if err := l.AppendAsync(one("a"), nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, ErrFull) {
		t.Fatalf("Close: %v", err)
	}
}

// The queue is bounded: an append waits for space, or fails when the backend fails.
func TestQueueBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &scripted{hold: make(chan struct{}), began: make(chan struct{}, 100)}
		l := New(b, Options{Commit: Group, MaxQueued: 10})
		var wg sync.WaitGroup
		done := 0
		var mu sync.Mutex
		for range 8 {
			wg.Go(func() {
				if _, err := l.Append(one("1234"), nil); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				done++
			})
		}
		<-b.began
		synctest.Wait()
		l.mu.Lock()
		queued := l.queued
		l.mu.Unlock()
		if queued > 10 || done != 0 {
			t.Errorf("%d bytes queued of at most 10, %d done", queued, done)
		}
		close(b.hold)
		wg.Wait()
		if done != 8 || len(b.stored) != 8 {
			t.Errorf("%d done, %d stored", done, len(b.stored))
		}
		b.set(func() { b.fail = ErrFull })
		var err error
		for i := 0; err == nil && i < 100; i++ {
			err = l.AppendAsync(one("1234"), nil)
			synctest.Wait()
		}
		if !errors.Is(err, ErrFull) {
			t.Errorf("lazy records beyond the queue, which cannot be written: %v", err)
		}
		b.set(func() { b.fail = nil })
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// picky is a backend that takes one record at a time.
type picky struct{ scripted }

func (*picky) Admit(batch [][]byte) error {
	if len(batch) > 1 {
		return fmt.Errorf("%w: %d records", ErrTooLarge, len(batch))
	}
	return nil
}

// A batch that the backend cannot store is refused before it is queued, so it does not fail the
// batches of other callers.
func TestTooLargeForBackend(t *testing.T) {
	b := &picky{}
	l := New(b, Options{Commit: Group})
	two := [][]byte{[]byte("1"), []byte("2")}
	if _, err := l.Append(two, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Append: %v", err)
	}
	if err := l.AppendAsync(two, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("AppendAsync: %v", err)
	}
	if first, err := l.Append(one("a"), nil); first != 1 || err != nil {
		t.Errorf("Append of what fits gives %d, %v", first, err)
	}
	if err := l.Close(); err != nil || len(b.writes) != 1 {
		t.Errorf("Close: %v after writes %v", err, b.writes)
	}
}

// An append allocates nothing.
func TestAppendAllocates(t *testing.T) {
	for _, commit := range []Commit{PerAppend, Group} {
		l := New(discard{}, Options{Commit: commit})
		batch, then := one("record"), func(uint64) {}
		n := testing.AllocsPerRun(1000, func() {
			if _, err := l.Append(batch, then); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("commit %d: %v allocations per append", commit, n)
		}
		l.Close()
	}
}

// discard is a backend that discards everything.
type discard struct{}

func (discard) Write([][][]byte) error                        { return nil }
func (discard) Sync() error                                   { return nil }
func (discard) Scan(uint64, func(uint64, []byte) error) error { return nil }
func (discard) Bounds() (first, next uint64)                  { return 1, 1 }
func (discard) Size() int64                                   { return 0 }
func (discard) Trim(uint64) error                             { return nil }
func (discard) Close() error                                  { return nil }
