package batcher

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// asker is a Waiter that records its answers for a test.
type asker[V any] struct {
	gone    bool
	answers chan Answer[V]
}

func newAsker[V any]() *asker[V] { return &asker[V]{answers: make(chan Answer[V], 1)} }

func (a *asker[V]) Wanted() bool         { return !a.gone }
func (a *asker[V]) Answered(b Answer[V]) { a.answers <- b }

// beginning implements Do with Begin.
type beginning struct{ *Batcher[int, int] }

func (b beginning) Do(ctx context.Context, key int) (int, bool, error) {
	a := newAsker[int]()
	if err := b.Begin(key, a); err != nil {
		return 0, false, err
	}
	select {
	case got := <-a.answers:
		return got.Value, got.Found, got.Err
	case <-ctx.Done():
		return 0, false, ctx.Err()
	}
}

// Waiters and callers of Do are answered alike, in the same batches; a key that is no longer wanted
// when a batch is made is neither fetched nor answered.
func TestBegin(t *testing.T) {
	with(t, Config[int, string]{}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		first := later(t.Context(), b, 1)
		second, missing, gone := newAsker[string](), newAsker[string](), newAsker[string]()
		for key, a := range map[int]*asker[string]{2: second, -1: missing, 3: gone} {
			if err := b.Begin(key, a); err != nil {
				t.Fatal(err)
			}
		}
		gone.gone = true
		h.let <- nil
		want(t, "the first", first, "1", true, nil)
		h.let <- nil
		if a := <-second.answers; a.Value != "2" || !a.Found {
			t.Errorf("%+v", a)
		}
		if a := <-missing.answers; a.Found || a.Err != nil {
			t.Errorf("%+v", a)
		}
		synctest.Wait()
		if len(gone.answers) > 0 || len(h.sent) != 2 || len(h.sent[1]) != 2 {
			t.Errorf("fetched %v, answered %d that were not wanted", h.sent, len(gone.answers))
		}
	})
}

// A batch without wanted keys is not sent, and the worker continues.
func TestBeginOfNothingWanted(t *testing.T) {
	with(t, Config[int, string]{}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		gone := newAsker[string]()
		gone.gone = true
		if err := b.Begin(1, gone); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		second := later(t.Context(), b, 2)
		h.let <- nil
		want(t, "the second", second, "2", true, nil)
		if len(h.sent) != 1 {
			t.Errorf("fetched %v", h.sent)
		}
	})
}

func TestBeginIsBounded(t *testing.T) {
	with(t, Config[int, string]{MaxWaiting: 1}, func(t *testing.T, h *held, b *Batcher[int, string]) {
		first := later(t.Context(), b, 1)
		second := newAsker[string]()
		if err := b.Begin(2, second); err != nil {
			t.Fatal(err)
		}
		if err := b.Begin(3, newAsker[string]()); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
		closed := make(chan struct{})
		go func() { b.Close(); close(closed) }()
		if a := <-second.answers; !errors.Is(a.Err, ErrClosed) {
			t.Errorf("%+v", a)
		}
		if err := b.Begin(4, newAsker[string]()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		h.let <- nil
		want(t, "the first", first, "1", true, nil)
		<-closed
	})
}
