//go:build !race

package batcher

import (
	"context"
	"testing"
	"time"
)

// In the steady state a call does not allocate, alone in its batch or with others. (The race
// detector empties pools, so the test is skipped there.)
func TestNoAllocations(t *testing.T) {
	fetch := func(_ context.Context, keys []int, answers []Answer[[4]int]) error {
		for i, k := range keys {
			answers[i] = Answer[[4]int]{Value: [4]int{k}, Found: true}
		}
		return nil
	}
	t.Run("alone", func(t *testing.T) {
		b := New(sized(Config[int, [4]int]{Fetch: fetch}))
		defer b.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		once := func() { b.Do(ctx, 1) }
		if n := testing.AllocsPerRun(1000, once); n > 0 {
			t.Errorf("%v allocations", n)
		}
	})
	t.Run("together", func(t *testing.T) {
		const callers, perContext = 256, 8 // context.WithTimeout makes a few objects per fetch, not per call
		b := New(sized(Config[int, [4]int]{Fetch: fetch, Concurrent: 2, Timeout: time.Minute}))
		defer b.Close()
		begin, end := make(chan struct{}), make(chan struct{})
		for i := range callers {
			go func() {
				for range begin {
					b.Do(t.Context(), i)
					end <- struct{}{}
				}
			}()
		}
		defer close(begin)
		round := func() {
			for range callers {
				begin <- struct{}{}
			}
			for range callers {
				<-end
			}
		}
		round()
		before := b.Stats().Fetches
		const rounds = 100
		n := testing.AllocsPerRun(rounds, round)
		perRound := float64(b.Stats().Fetches-before) / (rounds + 1)
		if n > perContext*perRound+1 {
			t.Errorf("%v allocations in a round of %d calls and %.1f fetches", n, callers, perRound)
		}
	})
}
