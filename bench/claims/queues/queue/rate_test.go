package queue_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dyno/bench/claims/queues/queue"
	"dyno/bench/claims/queues/queue/queuetest"
)

// One consumer that takes 1 ms for a value carries 1,000 a second, whatever its queue is and has room
// for. The time is the bubble's, in which nothing else takes any.
func TestTheConsumerBoundsTheRate(t *testing.T) {
	const offered = 10_000
	for name, build := range queue.Constructors[queuetest.Value]() {
		for _, capacity := range []int{16, 1024, 8 * 512} {
			synctest.Test(t, func(t *testing.T) {
				q := build(queue.Config{Capacity: capacity})
				var handled atomic.Int64
				var consumer sync.WaitGroup
				consumer.Go(func() {
					for buf := make([]queuetest.Value, 1); q.Take(0, buf) > 0; handled.Add(1) {
						time.Sleep(time.Millisecond)
					}
				})
				for i := range uint64(offered) {
					q.Put(i, queuetest.Value{Hash: i})
					time.Sleep(time.Second / offered)
				}
				synctest.Wait()
				if n := handled.Load(); n < 900 || n > 1000 {
					t.Errorf("%s of %d: %d in a second", name, capacity, n)
				}
				q.Close()
				consumer.Wait()
			})
		}
	}
}
