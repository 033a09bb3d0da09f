package primitives

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// BenchmarkGosched is a call, beside goroutines that do nothing but call it as well: the time until
// the caller runs again.
func BenchmarkGosched(b *testing.B) {
	for _, others := range []int{0, 1, 64} {
		b.Run(fmt.Sprint("beside=", others), func(b *testing.B) {
			var ended atomic.Bool
			var group sync.WaitGroup
			for range others {
				group.Go(func() {
					for !ended.Load() {
						runtime.Gosched()
					}
				})
			}
			for b.Loop() {
				runtime.Gosched()
			}
			ended.Store(true)
			group.Wait()
		})
	}
}

// BenchmarkYield is what a call takes of the throughput: 64 goroutines for each processor hash
// blocks, and call Gosched after each, or do not.
func BenchmarkYield(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10} {
		for _, yields := range []bool{false, true} {
			b.Run(fmt.Sprintf("%dKiB/gosched=%v", size>>10, yields), func(b *testing.B) {
				block := make([]byte, size)
				b.SetParallelism(64)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						sha256.Sum256(block)
						if yields {
							runtime.Gosched()
						}
					}
				})
			})
		}
	}
}

// BenchmarkRoom is a value's way through a channel, by its room: from 16 senders, as many as
// ledgersync has requests under way, to one goroutine. Parked is how many senders waited, on average.
func BenchmarkRoom(b *testing.B) {
	const senders = 16
	for _, room := range []int{0, 1, 128} {
		b.Run(fmt.Sprint("room=", room), func(b *testing.B) {
			values := make(chan int, room)
			var group sync.WaitGroup
			var sending atomic.Int64
			b.ResetTimer()
			for s := range senders {
				group.Go(func() {
					for n := s; n < b.N; n += senders {
						sending.Add(1)
						values <- n
						sending.Add(-1)
					}
				})
			}
			waiting := int64(0)
			for range b.N {
				<-values
				waiting += max(0, sending.Load()-1) // the receiver has just taken one
			}
			b.StopTimer()
			group.Wait()
			b.ReportMetric(float64(waiting)/float64(b.N), "parked")
		})
	}
}

// BenchmarkTable finds one of many values by its name, from all processors: in a map behind a lock,
// in a sync.Map, and in a map that an atomic.Value holds and that is never changed.
func BenchmarkTable(b *testing.B) {
	for _, size := range []int{100, 10_000, 100_000} {
		names := make([]string, size)
		table, shared := map[string]*int{}, new(sync.Map)
		for n := range names {
			names[n] = fmt.Sprint("connection-", n)
			table[names[n]] = &n
			shared.Store(names[n], &n)
		}
		var mu sync.Mutex
		var rw sync.RWMutex
		var held atomic.Value
		held.Store(table)
		for _, way := range []struct {
			name string
			find func(string) *int
		}{
			{"mutex", func(name string) *int { mu.Lock(); defer mu.Unlock(); return table[name] }},
			{"rwmutex", func(name string) *int { rw.RLock(); defer rw.RUnlock(); return table[name] }},
			{"sync.Map", func(name string) *int { v, _ := shared.Load(name); return v.(*int) }},
			{"atomic.Value", func(name string) *int { return held.Load().(map[string]*int)[name] }},
		} {
			b.Run(fmt.Sprintf("%s/%d", way.name, size), func(b *testing.B) {
				b.ReportAllocs()
				b.RunParallel(func(pb *testing.PB) {
					for n := rand.IntN(size); pb.Next(); n = (n + 7919) % size {
						if *way.find(names[n]) != n {
							b.Error("another value")
							return
						}
					}
				})
			})
		}
		// What a connection that comes costs where readers take no lock: a copy of all.
		b.Run(fmt.Sprintf("atomic.Value-changed/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				held.Store(maps.Clone(held.Load().(map[string]*int)))
			}
		})
	}
}
