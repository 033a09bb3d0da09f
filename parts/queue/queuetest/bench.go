package queuetest

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"

	"dyno/parts/queue"
)

// Bench measures hand-over from 1 to 64 producers to one worker that takes up to 64 at once, by capacity.
// A producer that is refused yields and offers again. Besides the time per value it reports
//
//	refused/op  Puts that were refused, per value: how often a producer found no room
//	wait-ns/op  goroutine time blocked on mutexes, per value, those of channels included
//	kept-B      memory that the queue keeps when it was full once
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
	refused, waited := q.Stats().Refused, mutexWait()
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
	b.ReportMetric(float64(q.Stats().Refused-refused)/float64(b.N), "refused/op")
	b.ReportMetric((mutexWait()-waited)*1e9/float64(b.N), "wait-ns/op")
	b.ReportMetric(float64(max(kept, 0)), "kept-B")
}

// heap is the live heap in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// mutexWait is the time goroutines spent blocked on mutexes so far, in s.
func mutexWait() float64 {
	s := []metrics.Sample{{Name: "/sync/mutex/wait/total:seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}
