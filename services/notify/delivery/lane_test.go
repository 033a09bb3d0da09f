package delivery

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/queue"
	"dyno/services/notify/notice"

	"pgregory.net/rapid"
)

// The oldest pending item is known exactly, in whatever order lanes are delivered.
func TestOldestIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Receiver{lanes: map[string]*lane{}}
		lanes := []*lane{{receiver: r}, {receiver: r}, {receiver: r}}
		model := make([][]*item, len(lanes))
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				i := rapid.IntRange(0, len(lanes)-1).Draw(t, "lane")
				lanes[i].append(&item{notice: &notice.Notice{}})
				model[i] = append(model[i], lanes[i].last)
			},
			"pop": func(t *rapid.T) {
				i := rapid.IntRange(0, len(lanes)-1).Draw(t, "lane")
				if len(model[i]) == 0 {
					return
				}
				if got := lanes[i].pop(); got != model[i][0] {
					t.Fatal("popped out of order")
				}
				model[i] = model[i][1:]
			},
			"": func(t *rapid.T) {
				var oldest *item
				for i, items := range model {
					if lanes[i].n != len(items) {
						t.Fatalf("lane %d counts %d, not %d", i, lanes[i].n, len(items))
					}
					if len(items) > 0 && (oldest == nil || items[0].since < oldest.since) {
						oldest = items[0]
					}
				}
				if r.byAge.oldest != oldest {
					t.Fatal("another item is the oldest")
				}
			},
		})
	})
}

// Whatever the queue refuses is handed out all the same, each lane once, also when no worker asks
// again.
func TestRunQueueLosesNothing(t *testing.T) {
	for _, name := range queue.Names() {
		for _, capacity := range []int{1, 10, 1000} {
			synctest.Test(t, func(t *testing.T) {
				const lanes, workers = 200, 3
				q, err := queue.New[*lane](name, queue.Config{Capacity: capacity, Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				r := newRunQueue(q)
				for i := range lanes {
					r.put(&lane{hash: uint64(i)})
				}
				var mu sync.Mutex
				seen := map[uint64]int{}
				var all sync.WaitGroup
				for w := range workers {
					all.Go(func() {
						buf := make([]*lane, 1)
						for l := r.take(w, buf); l != nil; l = r.take(w, buf) {
							mu.Lock()
							seen[l.hash]++
							mu.Unlock()
							time.Sleep(time.Millisecond)
						}
					})
				}
				time.Sleep(lanes * 10 * time.Millisecond) // of the bubble's clock: far more than they need
				synctest.Wait()
				r.close()
				all.Wait()
				if len(seen) != lanes || r.overflow.Load() != 0 || r.waiting.Load() != 0 {
					t.Fatalf("%s of %d: %d of %d lanes came, %d wait", name, capacity, len(seen), lanes, r.overflow.Load())
				}
				for hash, n := range seen {
					if n != 1 {
						t.Fatalf("%s of %d: lane %d came %d times", name, capacity, hash, n)
					}
				}
				if refuses := capacity < lanes || name == "unbuffered"; refuses != (r.rejected.Load() > 0) {
					t.Fatalf("%s of %d: %d rejected", name, capacity, r.rejected.Load())
				}
			})
		}
	}
}

// A webhook ends at its bound of bytes, and takes a notice that is larger than it all the same.
func TestBatchIsBoundedInBytes(t *testing.T) {
	r := newTestReceiver(t)
	many, big := &lane{receiver: r, state: laneReady}, &lane{receiver: r, state: laneReady}
	for range 10 {
		many.append(&item{notice: &notice.Notice{Payload: make([]byte, maxWebhookBytes/4)}})
	}
	big.append(&item{notice: &notice.Notice{Payload: make([]byte, 2*maxWebhookBytes)}})
	b := new(batch)
	for l, want := range map[*lane]int{many: 4, big: 1} {
		b.reset(r)
		batching{most: 8}.pack(l, b)
		if len(b.parts) != 1 || b.parts[0].n != want {
			t.Fatalf("parts %+v, want one of %d notices", b.parts, want)
		}
	}
}

// A parked lane holds no worker, and backs off longer each time, within its bounds.
func TestBackoff(t *testing.T) {
	b := backoff{100 * time.Millisecond, time.Second}
	for tries, most := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 4: 800 * time.Millisecond, 5: time.Second, 1000: time.Second} {
		different := map[time.Duration]bool{}
		for range 100 {
			wait := b.wait(tries)
			if wait < most/2 || wait > most {
				t.Fatalf("after %d: %v, outside %v to %v", tries, wait, most/2, most)
			}
			different[wait] = true
		}
		if len(different) < 10 {
			t.Errorf("after %d: only %d different waits", tries, len(different))
		}
	}
}
