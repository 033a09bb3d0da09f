package batcher

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sync/singleflight"
)

// The cost of a call beyond the fetch, compared with singleflight (whose answers may be stale, and
// which joins only calls for the same key) and with a simple batcher. 128 callers request 100,000
// keys.
func BenchmarkDo(b *testing.B) {
	for _, bench := range []struct {
		name string
		open func() (do func(context.Context, int) (int, bool, error), stop func())
	}{
		{"batcher", func() (func(context.Context, int) (int, bool, error), func()) {
			b := New(sized(Config[int, int]{Fetch: double, Concurrent: 2, Timeout: time.Second}))
			return b.Do, b.Close
		}},
		{"channel", openNaive},
		{"singleflight", openSingleflight},
	} {
		b.Run(bench.name, func(b *testing.B) {
			do, stop := bench.open()
			defer stop()
			b.ReportAllocs()
			b.SetParallelism(64)
			b.RunParallel(func(pb *testing.PB) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				for pb.Next() {
					k := rand.IntN(100_000)
					if got, _, err := do(ctx, k); got != 2*k || err != nil {
						b.Errorf("%d: got %d, %v", k, got, err)
						return
					}
				}
			})
		})
	}
}

func double(_ context.Context, keys []int, answers []Answer[int]) error {
	for i, k := range keys {
		answers[i] = Answer[int]{Value: 2 * k, Found: true}
	}
	return nil
}

type question struct {
	key    int
	answer chan Answer[int]
}

func openNaive() (func(context.Context, int) (int, bool, error), func()) {
	questions := make(chan question, 256)
	for range 2 {
		go func() {
			for first := range questions {
				batch := []question{first}
				for more := true; more && len(batch) < 256; {
					select {
					case q, ok := <-questions:
						if ok {
							batch = append(batch, q)
						}
						more = ok
					default:
						more = false
					}
				}
				keys, answers := make([]int, len(batch)), make([]Answer[int], len(batch))
				for i, q := range batch {
					keys[i] = q.key
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				_ = double(ctx, keys, answers)
				cancel()
				for i, q := range batch {
					q.answer <- answers[i]
				}
			}
		}()
	}
	do := func(ctx context.Context, key int) (int, bool, error) {
		q := question{key, make(chan Answer[int], 1)}
		questions <- q
		select {
		case a := <-q.answer:
			return a.Value, a.Found, a.Err
		case <-ctx.Done():
			return 0, false, ctx.Err()
		}
	}
	return do, func() { close(questions) }
}

func openSingleflight() (func(context.Context, int) (int, bool, error), func()) {
	var g singleflight.Group
	do := func(_ context.Context, key int) (int, bool, error) {
		v, err, _ := g.Do(strconv.Itoa(key), func() (any, error) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			var a [1]Answer[int]
			err := double(ctx, []int{key}, a[:])
			return a[0].Value, err
		})
		return v.(int), true, err
	}
	return do, func() {}
}
