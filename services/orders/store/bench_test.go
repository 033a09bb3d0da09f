package store

import (
	"context"
	"math/rand/v2"
	"testing"

	"dyno/services/orders/batcher"
	"dyno/services/orders/database"
	"dyno/services/orders/order"
	"dyno/services/orders/pgtest"
)

const benchRows = 100_000

func seededDatabase(b testing.TB, rows int) string {
	dsn := pgtest.Database(b)
	if err := database.Migrate(b.Context(), dsn, 0, 1); err != nil {
		b.Fatal(err)
	}
	if err := database.Seed(b.Context(), dsn, rows, 1000, nil); err != nil {
		b.Fatal(err)
	}
	return dsn
}

// BenchmarkOrder is 64 callers who each ask for one order at a time.
func BenchmarkOrder(b *testing.B) {
	dsn := seededDatabase(b, benchRows)
	for _, name := range Drivers() {
		for _, lookup := range Lookups() {
			b.Run(name+"/"+lookup, func(b *testing.B) {
				s, _ := open(b, Options{DSNs: []string{dsn}, Driver: name, Lookup: lookup})
				ctx := context.Background()
				b.SetParallelism(32) // times GOMAXPROCS
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if _, err := s.Order(ctx, 1+rand.Int64N(benchRows)); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
				if st := s.Stats().Batch; st.Fetches > 0 {
					b.ReportMetric(float64(st.Keys)/float64(st.Fetches), "rows/fetch")
				}
			})
		}
	}
}

// BenchmarkFetch is one connection that reads 64 orders at a time.
func BenchmarkFetch(b *testing.B) {
	dsn := seededDatabase(b, benchRows)
	for _, name := range Drivers() {
		b.Run(name, func(b *testing.B) {
			s, _ := open(b, Options{DSNs: []string{dsn}, Driver: name})
			uids, answers := make([]int64, 64), make([]batcher.Answer[order.Order], 64)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				for i := range uids {
					uids[i] = 1 + rand.Int64N(benchRows)
				}
				clear(answers)
				if err := s.shards[0].fetch(ctx, uids, answers); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(uids))/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkSubmit(b *testing.B) {
	for _, name := range Drivers() {
		b.Run(name, func(b *testing.B) {
			s, _ := open(b, Options{Driver: name})
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				submit(b, s, "A1", buy(n))
			}
		})
	}
}

// A fetch allocates the texts of each row, and little else.
func TestFetchAllocates(t *testing.T) {
	s, _ := open(t, Options{DSNs: []string{seededDatabase(t, 1000)}})
	uids, answers := make([]int64, 100), make([]batcher.Answer[order.Order], 100)
	for i := range uids {
		uids[i] = int64(10 * (i + 1))
	}
	d := s.shards[0].driver
	fetch := func() {
		if err := d.Fetch(context.Background(), uids, answers); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	for i, a := range answers {
		if !a.Found || a.Value.UID != uids[i] {
			t.Fatalf("%+v, want order %d", a, uids[i])
		}
	}
	if n := testing.AllocsPerRun(100, fetch); n > float64(len(uids))+12 {
		t.Errorf("%v allocations for %d rows", n, len(uids))
	}
}
