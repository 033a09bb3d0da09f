package dispatch

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dyno/agent/monotonic"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
	"dyno/services/notify/webhook"
)

// The oldest pending item is known exactly, in whatever order lanes are delivered.
func TestOldestIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &subscriber{lanes: map[string]*lane{}}
		lanes := []*lane{{sub: r}, {sub: r}, {sub: r}}
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

// Each lane is handed out once, in order, also when it came while the workers slept.
func TestRunQueueLosesNothing(t *testing.T) {
	for _, workers := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			const lanes = 200
			r := newRunQueue()
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
			pass(2 * lanes * time.Millisecond) // more than they need
			put(all[lanes:])                   // the workers sleep
			pass(2 * lanes * time.Millisecond)
			if s := r.stats(); s.Ready != 0 || s.Peak < lanes || s.Parks < uint64(workers) {
				t.Errorf("%+v, of %d workers", s, workers)
			}
			r.close()
			staff.Wait()
			r.put(new(lane)) // as a timer may
			if r.take() != nil {
				t.Fatal("a closed queue gave a lane")
			}
			if workers == 1 && !slices.Equal(seen, all) {
				t.Fatal("out of order")
			}
			count := map[*lane]int{}
			for _, l := range seen {
				count[l]++
			}
			if len(seen) != len(all) || len(count) != len(all) {
				t.Fatalf("%d of %d lanes came, %d of them once or more", len(seen), len(all), len(count))
			}
		})
	}
}

// The lag is what the next lane has waited, not what the last one had.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunQueue()
		put := func() { r.put(&lane{queued: monotonic.Now()}) }
		for i, step := range []struct {
			do   func()
			want time.Duration
		}{{func() {}, 0}, {put, time.Second}, {put, 2 * time.Second}, {func() { r.take() }, 2 * time.Second}, {func() { r.take() }, 0}} {
			step.do()
			pass(time.Second)
			if got := r.lag(); got != step.want {
				t.Errorf("step %d: %v, want %v", i, got, step.want)
			}
		}
	})
}

// A webhook ends at its bound of bytes, and takes a notice that is larger than it all the same.
func TestBatchIsBoundedInBytes(t *testing.T) {
	r := newTestSubscriber(t)
	many, big := &lane{sub: r, state: laneReady}, &lane{sub: r, state: laneReady}
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

// No lane ends its pause after Stop, also when its timer fires in the same moment.
func TestNothingUnparksAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sender, err := webhook.NewSender(webhook.Options{Client: "default", Workers: 1, Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDeliverer(DelivererOptions{Batching: "single", Sender: sender})
		if err != nil {
			t.Fatal(err)
		}
		r, err := newSubscriber(d, subscription.Definition{URL: "http://example.com/hook"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		d.Start(ctx, nil) // without workers: what is let through stays in the queue
		const lanes = 100
		r.mu.Lock()
		r.limiter.limit = lanes
		for i := range lanes {
			l, _ := r.lane(strconv.Itoa(i))
			l.append(&item{notice: &notice.Notice{}})
			r.park(l, time.Duration(i/10)*time.Millisecond)
		}
		r.mu.Unlock()
		time.Sleep(5 * time.Millisecond) // ten are due now
		end()
		d.Stop()
		let := d.QueueStats().Ready
		if let < 50 || let > 60 {
			t.Errorf("%d lanes were let through, want those of 5 ms, and those of the sixth or not", let)
		}
		pass(time.Hour)
		if late := d.QueueStats().Ready - let; late != 0 || d.Out() != int64(let) {
			t.Errorf("%d lanes were let through after Stop; %d are out", late, d.Out())
		}
	})
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
