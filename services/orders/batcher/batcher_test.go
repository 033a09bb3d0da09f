package batcher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// held is a Fetch that waits until a test releases it.
type held struct {
	mu     sync.Mutex
	sent   [][]int
	let    chan error // value returned by the next fetch
	missed time.Duration
}

func (h *held) fetch(ctx context.Context, keys []int, answers []Answer[string]) error {
	h.mu.Lock()
	h.sent = append(h.sent, slices.Clone(keys))
	h.mu.Unlock()
	begin := time.Now()
	select {
	case err := <-h.let:
		for i, k := range keys {
			if k >= 0 {
				answers[i] = Answer[string]{Value: fmt.Sprint(k), Found: true}
			}
		}
		return err
	case <-ctx.Done():
		h.missed = time.Since(begin)
		return ctx.Err()
	}
}

// result is the return value of a Do.
type result struct {
	value string
	found bool
	err   error
}

// later starts a Do and returns the channel of its result.
func later(ctx context.Context, b *Batcher[int, string], key int) <-chan result {
	done := make(chan result, 1)
	go func() {
		value, found, err := b.Do(ctx, key)
		done <- result{value, found, err}
	}()
	synctest.Wait()
	return done
}

// sized gives bounds that a test does not set: one concurrent fetch, and more than a test reaches.
func sized[K comparable, V any](c Config[K, V]) Config[K, V] {
	c.Concurrent, c.MaxBatch, c.MaxWaiting = cmp.Or(c.Concurrent, 1), cmp.Or(c.MaxBatch, 256), cmp.Or(c.MaxWaiting, 65_536)
	return c
}

// with runs f in a bubble with a batcher of one worker and a held fetch.
func with(t *testing.T, c Config[int, string], f func(t *testing.T, h *held, b *Batcher[int, string])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &held{let: make(chan error)}
		if c.Fetch == nil {
			c.Fetch = h.fetch
		}
		b := New(sized(c))
		defer b.Close()
		f(t, h, b)
	})
}

func want(t *testing.T, what string, got <-chan result, value string, found bool, err error) {
	t.Helper()
	synctest.Wait()
	select {
	case r := <-got:
		if r.value != value || r.found != found || !errors.Is(r.err, err) {
			t.Errorf("%s: got %+v, want %q %v %v", what, r, value, found, err)
		}
	default:
		t.Errorf("%s: still waits", what)
	}
}

// Calls that arrive while all workers fetch share a batch, each key once; a missing key is not
// found.
func TestWhatWaitsGoesTogether(t *testing.T) {
	with(t, Config[int, string]{}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		ctx := t.Context()
		first := later(ctx, b, 1)
		second, same, other, absent := later(ctx, b, 1), later(ctx, b, 1), later(ctx, b, 2), later(ctx, b, -1)
		h.let <- nil
		want(t, "the first", first, "1", true, nil)
		h.let <- nil
		want(t, "one more for the same key", second, "1", true, nil)
		want(t, "and another", same, "1", true, nil)
		want(t, "one for another key", other, "2", true, nil)
		want(t, "one for no key", absent, "", false, nil)
		if got := fmt.Sprint(h.sent); got != "[[1] [1 2 -1]]" {
			t.Errorf("fetched %s", got)
		}
		if s := b.Stats(); s != (Stats{Calls: 5, Fetches: 2, Keys: 4}) {
			t.Errorf("%+v", s)
		}
	})
}

// A batch has at most MaxBatch keys, for any number of calls, and Concurrent fetches run
// concurrently.
func TestBatchesAreBounded(t *testing.T) {
	c := Config[int, string]{Concurrent: 2, MaxBatch: 3}
	with(t, c, func(t *testing.T, h *held, b *Batcher[int, string]) {
		var got []<-chan result
		for _, k := range []int{1, 2, 3, 3, 3, 3, 4, 5, 6} {
			got = append(got, later(t.Context(), b, k))
		}
		for range 4 {
			h.let <- nil
			synctest.Wait()
		}
		for i, k := range []string{"1", "2", "3", "3", "3", "3", "4", "5", "6"} {
			want(t, "key "+k, got[i], k, true, nil)
		}
		if got := fmt.Sprint(h.sent); got != "[[1] [2] [3 4 5] [6]]" {
			t.Errorf("fetched %s", got)
		}
	})
}

// A worker that finds more than a batch wakes another one: here two calls have arrived before the
// first worker, which was woken once, has started.
func TestTheRestIsForAnother(t *testing.T) {
	with(t, Config[int, string]{Concurrent: 2, MaxBatch: 1}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		synctest.Wait() // both are idle
		b.mu.Lock()
		for k := range 2 {
			c := b.calls.Get().(*call[int, string])
			c.key = k
			b.waiting.push(c)
			b.rouse()
		}
		b.mu.Unlock()
		synctest.Wait()
		if len(h.sent) != 2 {
			t.Errorf("fetched %v, want two concurrently", h.sent)
		}
		h.let <- nil
		h.let <- nil
	})
}

// A caller whose context ends returns immediately, whether or not its call was sent, and other
// callers are not affected.
func TestOneGivesUp(t *testing.T) {
	with(t, Config[int, string]{}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		ctx, cancel := context.WithCancel(t.Context())
		sent, sentToo := later(ctx, b, 1), later(ctx, b, 2)
		waits, stays := later(ctx, b, 1), later(t.Context(), b, 3)
		cancel()
		for _, c := range []<-chan result{sent, sentToo, waits} {
			want(t, "cancelled", c, "", false, context.Canceled)
		}
		if s := b.Stats(); s.Waiting != 1 {
			t.Errorf("%d wait, want the one that stays", s.Waiting)
		}
		h.let <- nil
		h.let <- nil
		want(t, "the one that stays", stays, "3", true, nil)
		want(t, "one that is late", later(ctx, b, 1), "", false, context.Canceled)
		if got := fmt.Sprint(h.sent); got != "[[1] [3]]" {
			t.Errorf("fetched %s", got)
		}
	})
}

// When a batch fails, each key is fetched alone, once; a second failure affects only the callers of
// that key. Keys without waiting callers are skipped.
func TestFailingBatch(t *testing.T) {
	down, poison := errors.New("down"), errors.New("poison")
	with(t, Config[int, string]{}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		ctx, cancel := context.WithCancel(t.Context())
		alone := later(t.Context(), b, 0)
		good, bad, gone, absent := later(t.Context(), b, 1), later(t.Context(), b, 2), later(ctx, b, 3), later(t.Context(), b, -1)
		h.let <- down
		want(t, "a batch of one", alone, "", false, down)
		synctest.Wait()
		cancel()
		want(t, "gone", gone, "", false, context.Canceled)
		h.let <- down
		h.let <- nil
		want(t, "good", good, "1", true, nil)
		h.let <- poison
		want(t, "bad", bad, "", false, poison)
		h.let <- nil
		want(t, "absent", absent, "", false, nil)
		if got := fmt.Sprint(h.sent); got != "[[0] [1 2 3 -1] [1] [2] [-1]]" {
			t.Errorf("fetched %s", got)
		}
		if s := b.Stats(); s.Retries != 3 {
			t.Errorf("%+v", s)
		}
	})
}

// An answer with its own error affects only its key, which is not retried.
func TestFailingMember(t *testing.T) {
	poison := errors.New("poison")
	fetches := 0
	fetch := func(_ context.Context, keys []int, answers []Answer[string]) error {
		fetches++
		answers[0].Err = poison
		return nil
	}
	with(t, Config[int, string]{Fetch: fetch}, func(t *testing.T, _ *held, b *Batcher[int, string]) {
		want(t, "poison", later(t.Context(), b, 1), "", false, poison)
		if fetches != 1 {
			t.Errorf("%d fetches", fetches)
		}
	})
}

// A fetch that hangs ends after Timeout, independent of its callers' deadlines, and so does each
// retry.
func TestTimeout(t *testing.T) {
	with(t, Config[int, string]{Timeout: time.Second}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		long, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin := time.Now()
		first := later(long, b, 1)
		second, third := later(long, b, 2), later(long, b, 3)
		for _, c := range []<-chan result{first, second, third} {
			if r := <-c; !errors.Is(r.err, context.DeadlineExceeded) {
				t.Errorf("got %+v", r)
			}
		}
		if took := time.Since(begin); took != 4*time.Second || h.missed != time.Second {
			t.Errorf("took %v, the last %v; want a second for the first, the batch, and each of its two keys", took, h.missed)
		}
	})
}

// A panic becomes an error, for the batch and then for the key that caused it.
func TestPanic(t *testing.T) {
	gate := make(chan struct{})
	fetch := func(_ context.Context, keys []int, answers []Answer[string]) error {
		<-gate
		if slices.Contains(keys, 13) {
			panic("thirteen")
		}
		answers[0].Found = true
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		gate = make(chan struct{})
		b := New(sized(Config[int, string]{Fetch: fetch}))
		defer b.Close()
		first := later(t.Context(), b, 0)
		bad, good := later(t.Context(), b, 13), later(t.Context(), b, 14)
		close(gate)
		want(t, "before", first, "", true, nil)
		want(t, "beside", good, "", true, nil)
		if r := <-bad; r.err == nil || !strings.Contains(r.err.Error(), "thirteen") {
			t.Errorf("got %+v, want the panic", r)
		}
	})
}

// Above MaxWaiting, calls are refused immediately; callers that leave make room.
func TestFull(t *testing.T) {
	with(t, Config[int, string]{MaxWaiting: 2}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		ctx, cancel := context.WithCancel(t.Context())
		sent := later(t.Context(), b, 1)
		later(ctx, b, 2)
		waits := later(t.Context(), b, 3)
		want(t, "the third that waits", later(t.Context(), b, 1), "", false, ErrFull)
		cancel()
		synctest.Wait()
		again := later(t.Context(), b, 4)
		h.let <- nil
		h.let <- nil
		want(t, "sent", sent, "1", true, nil)
		want(t, "waited", waits, "3", true, nil)
		want(t, "in place of the cancelled call", again, "4", true, nil)
		if s := b.Stats(); s.Refused != 1 || s.Calls != 4 {
			t.Errorf("%+v", s)
		}
	})
}

// Close waits for fetches in progress and answers the other calls.
func TestClose(t *testing.T) {
	down := errors.New("down")
	with(t, Config[int, string]{}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		gate := later(t.Context(), b, 0)
		one, two := later(t.Context(), b, 1), later(t.Context(), b, 2)
		h.let <- nil
		synctest.Wait()
		waits := later(t.Context(), b, 3)
		var closed atomic.Bool
		go func() { b.Close(); closed.Store(true) }()
		want(t, "before", gate, "0", true, nil)
		want(t, "waiting", waits, "", false, ErrClosed)
		want(t, "late", later(t.Context(), b, 1), "", false, ErrClosed)
		if closed.Load() {
			t.Error("Close did not wait for the fetch under way")
		}
		h.let <- down
		want(t, "under way", one, "", false, down)
		want(t, "under way", two, "", false, down)
		if !closed.Load() || len(h.sent) != 2 {
			t.Errorf("closed %v after %d fetches, want no retries", closed.Load(), len(h.sent))
		}
	})
}
