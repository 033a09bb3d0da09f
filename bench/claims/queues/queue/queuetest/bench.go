package queuetest

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"

	"dyno/bench/claims/queues/queue"
)

// Bench measures the transfer from 1 to 64 producers to one worker that takes up to 64 values per
// call, by capacity. A producer that is refused yields and tries again. In addition to the time per
// value it reports
//
//	refused/op     refused Puts per value
//	parks/op       times that the worker found no value and slept, per value
//	parks/s        the same, per second
//	blocked-share  share of the goroutines' time blocked on mutexes, those of channels included
//	gc-ns/op       CPU time of the collections that ended meanwhile, per value; 0: there was none
//	kept-B         memory that the queue keeps after it was full once
//
// A queue without a buffer runs as capacity 0.
func Bench(b *testing.B, build New) {
	capacities := []int{16, 256, 4096}
	if !buffered(build) {
		capacities = []int{0}
	}
	for _, producers := range []int{1, 4, 16, 64} {
		for _, capacity := range capacities {
			b.Run(fmt.Sprintf("producers=%d/capacity=%d", producers, capacity), func(b *testing.B) {
				bench(b, build, producers, queue.Config{Capacity: capacity})
			})
		}
	}
}

func bench(b *testing.B, build New, producers int, c queue.Config) {
	before := heap()
	q := build(c)
	for i := uint64(0); q.Put(i, Value{}); i++ {
	}
	kept := heap() - before
	buf := slices.Repeat([]Value{{}}, 64)
	for q.Len() > 0 {
		q.Take(0, buf)
	}
	stats, blocked, gc := q.Stats(), seconds(mutexWait), seconds(gcTime)
	b.ReportAllocs()
	b.ResetTimer()
	var producing, working sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := p; i < b.N; i += producers {
				for !q.Put(uint64(p), Value{Seq: uint64(i)}) {
					runtime.Gosched()
				}
			}
		})
	}
	working.Go(func() {
		for q.Take(0, buf) > 0 {
		}
	})
	producing.Wait()
	q.Close()
	working.Wait()
	b.StopTimer()
	blocked, gc = seconds(mutexWait)-blocked, seconds(gcTime)-gc
	n, elapsed := float64(b.N), b.Elapsed().Seconds()
	parks := float64(q.Stats().Waits - stats.Waits)
	b.ReportMetric(float64(q.Stats().Refused-stats.Refused)/n, "refused/op")
	b.ReportMetric(parks/n, "parks/op")
	b.ReportMetric(parks/elapsed, "parks/s")
	b.ReportMetric(blocked/(elapsed*float64(producers+1)), "blocked-share")
	b.ReportMetric(gc*1e9/n, "gc-ns/op")
	b.ReportMetric(float64(max(kept, 0)), "kept-B")
}

// heap returns the live heap in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Metrics of the whole process since its start. That of collections is updated when one ends.
const (
	mutexWait = "/sync/mutex/wait/total:seconds"
	gcTime    = "/cpu/classes/gc/total:cpu-seconds"
)

// seconds reads one of these metrics.
func seconds(name string) float64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Float64()
}
