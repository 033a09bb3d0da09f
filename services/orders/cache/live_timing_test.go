package cache

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"dyno/services/orders/postgres/pgtest"
	"dyno/services/orders/store"
)

// BenchmarkLive compares an answer from memory behind a fence with what it saves: a read that shares its query
// with all that wait (store, Lookup batch). 64 callers; idle: nobody writes; written: two writers change orders.
func BenchmarkLive(b *testing.B) {
	dsn := pgtest.Server(b, logical).DSN()
	d := open(b, dsn)
	if err := store.Seed(b.Context(), dsn, 10_000, 100, func(int) {}); err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Options{DSNs: []string{dsn}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	l := live(b, s, dsn, 2*time.Millisecond)
	for _, writers := range []int{0, 2} {
		name := map[int]string{0: "idle", 2: "written"}[writers]
		stop := write(b, d, writers)
		for what, source := range map[string]Source{"batched": s, "fenced": l} {
			b.Run(name+"/"+what, func(b *testing.B) { bench(b, source, l) })
		}
		stop()
	}
}

func bench(b *testing.B, source Source, l *Live) {
	for uid := int64(1); uid <= 1000; uid++ {
		source.Order(b.Context(), uid)
	}
	before := l.Stats()
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := source.Order(b.Context(), 1+rand.Int64N(1000)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	if source == Source(l) {
		after := l.Stats()
		b.ReportMetric(float64(after.Hits-before.Hits)/float64(b.N), "hits/op")
		b.ReportMetric(float64(after.Fences-before.Fences)/float64(b.N), "fences/op")
	}
}

func write(b *testing.B, d database, writers int) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for ctx.Err() == nil {
				fill(ctx, d, 1+rand.Int64N(10_000))
				pause(ctx, time.Millisecond)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}
