package delivery

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// A lane for which the channel has no room is handed out all the same, each lane once, in order,
// also when it came while the workers slept.
func TestRunQueueLosesNothing(t *testing.T) {
	for _, how := range [][2]int{{1, 1}, {10, 1}, {1000, 1}, {1, 3}, {10, 3}, {1000, 3}} {
		synctest.Test(t, func(t *testing.T) {
			const lanes = 200
			capacity, workers := how[0], how[1]
			r := newRunQueue(capacity)
			all := make([]*lane, 2*lanes)
			for i := range all {
				all[i] = new(lane)
			}
			put := func(some []*lane) {
				for _, l := range some {
					r.put(l)
				}
			}
			put(all[:lanes])
			var mu sync.Mutex
			var seen []*lane
			var staff sync.WaitGroup
			for range workers {
				staff.Go(func() {
					for l := r.take(); l != nil; l = r.take() {
						mu.Lock()
						seen = append(seen, l)
						mu.Unlock()
						time.Sleep(time.Millisecond)
					}
				})
			}
			time.Sleep(2 * lanes * time.Millisecond) // of the bubble's clock: more than they need
			synctest.Wait()
			put(all[lanes:]) // the workers sleep
			time.Sleep(2 * lanes * time.Millisecond)
			synctest.Wait()
			if n := r.parks.Load(); n < uint64(workers) {
				t.Errorf("of %d: %d parks, of %d workers", capacity, n, workers)
			}
			r.close()
			staff.Wait()
			if r.take() != nil {
				t.Fatal("a closed queue gave a lane")
			}
			if workers == 1 && !slices.Equal(seen, all) {
				t.Fatalf("of %d: out of order", capacity)
			}
			count := map[*lane]int{}
			for _, l := range seen {
				count[l]++
			}
			if len(seen) != len(all) || len(count) != len(all) || r.beside.Load() != 0 || r.waiting.Load() != 0 {
				t.Fatalf("of %d: %d of %d lanes came, %d of them once or more, %d wait", capacity, len(seen), len(all), len(count), r.waiting.Load())
			}
			if refuses := capacity < lanes; refuses != (r.rejected.Load() > 0) || r.peak.Load() < lanes {
				t.Fatalf("of %d: %d rejected, a peak of %d", capacity, r.rejected.Load(), r.peak.Load())
			}
		})
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
		batching{}.pack(l, b)
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
