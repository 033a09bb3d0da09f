package timers

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running calls body in a bubble with a running queue, and stops it.
func running(t *testing.T, tick time.Duration, body func(t *testing.T, q *Queue)) {
	synctest.Test(t, func(t *testing.T) {
		q := New(tick)
		ctx, end := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		runs.Go(func() { q.Run(ctx) })
		body(t, q)
		end()
		runs.Wait()
	})
}

func (q *Queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pending)
}

func TestFiresWithinATick(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		for _, d := range []time.Duration{
			-time.Second, 0, 1, time.Millisecond - 1, time.Millisecond, time.Millisecond + 1,
			63 * time.Millisecond, 64 * time.Millisecond, 65 * time.Millisecond, 4095 * time.Millisecond,
			4096 * time.Millisecond, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, 100 * 365 * 24 * time.Hour,
		} {
			start, fired := time.Now(), make(chan time.Time)
			var timer Timer
			timer.Init(func() { fired <- time.Now() })
			q.Start(&timer, d)
			if late := (<-fired).Sub(start) - max(d, 0); late < 0 || late > time.Millisecond {
				t.Errorf("a timer of %v fires %v late", d, late)
			}
			if q.count() != 0 {
				t.Errorf("%d timers pending after the only one fired", q.count())
			}
			time.Sleep(333 * time.Microsecond) // start the next one within a tick
		}
	})
}

func TestBeyondAllTime(t *testing.T) {
	for _, tick := range []time.Duration{1, 7, time.Millisecond, time.Hour} {
		running(t, tick, func(t *testing.T, q *Queue) {
			var timer Timer
			timer.Init(func() { t.Errorf("fires, with ticks of %v", tick) })
			time.Sleep(time.Hour)
			q.Start(&timer, math.MaxInt64)
			time.Sleep(200 * 365 * 24 * time.Hour)
			if !q.Stop(&timer) {
				t.Errorf("not pending after 200 years, with ticks of %v", tick)
			}
		})
	}
}

func TestEarlierTimerWakesRun(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		var late, soon Timer
		fired := make(chan time.Time, 1)
		late.Init(func() {})
		soon.Init(func() { fired <- time.Now() })
		q.Start(&late, time.Hour)
		synctest.Wait() // Run sleeps for about an hour
		start := time.Now()
		q.Start(&soon, time.Second)
		if took := (<-fired).Sub(start); took != time.Second {
			t.Errorf("fires after %v", took)
		}
		if !q.Stop(&late) {
			t.Error("the late timer is gone")
		}
	})
}

func TestSleepsWhileEmpty(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		var timer Timer
		timer.Init(func() {})
		q.Start(&timer, time.Second)
		time.Sleep(time.Minute)
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.alarm != forever {
			t.Errorf("empty, and wakes after %v", q.alarm)
		}
	})
}

func TestStopMeansNever(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		var a, b Timer
		inside := make(chan struct{})
		release := make(chan struct{})
		a.Init(func() { close(inside); <-release })
		b.Init(func() { t.Error("a stopped timer fires") })
		if q.Stop(&a) {
			t.Error("stopped a timer that was never started")
		}
		q.Start(&a, time.Second)
		q.Start(&b, time.Second)
		<-inside
		if q.Stop(&a) {
			t.Error("stopped a timer that is running")
		}
		if !q.Stop(&b) {
			t.Error("could not stop a timer that is due and waits for another")
		}
		if q.Stop(&b) {
			t.Error("stopped a timer twice")
		}
		close(release)
		time.Sleep(time.Hour)
		if q.Stop(&a) {
			t.Error("stopped a timer that has run")
		}
	})
}

func TestStartMoves(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		var timer Timer
		var fired []time.Duration
		start := time.Now()
		timer.Init(func() { fired = append(fired, time.Since(start)) })
		q.Start(&timer, time.Hour)
		q.Start(&timer, time.Second)
		q.Start(&timer, time.Minute)
		if q.count() != 1 {
			t.Errorf("%d timers pending", q.count())
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(fired) != 1 || fired[0] != time.Minute {
			t.Errorf("fired at %v, want once after a minute", fired)
		}
	})
}

// A function restarts its own timer immediately, and stops and starts another: the others still
// fire.
func TestFunctionsUseTheQueue(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		var greedy, stopped, started, end Timer
		rounds, done := 0, make(chan struct{})
		greedy.Init(func() {
			if rounds++; rounds == 1 {
				if !q.Stop(&stopped) {
					t.Error("a function cannot stop another timer")
				}
				q.Start(&started, 5*time.Millisecond)
			}
			q.Start(&greedy, 0)
		})
		stopped.Init(func() { t.Error("a stopped timer fires") })
		started.Init(func() { q.Start(&end, 5*time.Millisecond) })
		end.Init(func() { q.Stop(&greedy); close(done) })
		q.Start(&stopped, time.Millisecond)
		q.Start(&greedy, 0)
		<-done
		if rounds < 10 || rounds > 12 {
			t.Errorf("a timer that restarts itself ran %d times in 10 ticks", rounds)
		}
		if q.count() != 0 {
			t.Errorf("%d timers left", q.count())
		}
	})
}

// However many timers are due at a time, their functions take one goroutine, as those of
// time.AfterFunc do not: what is due after a pause of the process takes no memory.
func TestFunctionsRunOneByOne(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		const volley = 1000
		timers := make([]Timer, volley)
		begun, ended := 0, 0 // a second goroutine is a race, too
		for i := range timers {
			timers[i].Init(func() {
				if begun++; begun-ended != 1 {
					t.Error("two functions at a time")
				}
				time.Sleep(time.Microsecond)
				ended++
			})
			q.Start(&timers[i], time.Second)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if ended != volley {
			t.Errorf("%d of %d fired", ended, volley)
		}
	})
}

func TestNothingFiresAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(time.Millisecond)
		ctx, end := context.WithCancel(t.Context())
		var first, second Timer
		first.Init(end)
		fired := 0
		second.Init(func() { fired++ })
		q.Start(&first, time.Second)
		q.Start(&second, time.Second)
		q.Run(ctx)
		time.Sleep(time.Hour)
		if fired != 0 || q.count() != 1 {
			t.Fatalf("after the end of Run's context %d fired and %d are pending", fired, q.count())
		}
		again, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		q.Run(again)
		if fired != 1 {
			t.Error("another Run does not take over what is due")
		}
	})
}

func TestFromManyGoroutines(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, q *Queue) {
		const each = 1000
		var fired, stopped [4]int
		var all sync.WaitGroup
		for g := range fired {
			all.Go(func() {
				timers := make([]Timer, each)
				for i := range timers {
					timers[i].Init(func() { fired[g]++ })
					q.Start(&timers[i], time.Duration(i%70)*time.Millisecond)
					if i%3 == 0 {
						time.Sleep(time.Millisecond)
						if q.Stop(&timers[i/2]) {
							stopped[g]++
						}
					}
				}
			})
		}
		all.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		for g := range fired {
			if fired[g]+stopped[g] != each || stopped[g] == 0 {
				t.Errorf("of %d timers %d fired and %d were stopped", each, fired[g], stopped[g])
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	q := New(time.Millisecond)
	var timer Timer
	timer.Init(func() {})
	if n := testing.AllocsPerRun(100, func() { q.Start(&timer, time.Hour); q.Stop(&timer) }); n != 0 {
		t.Errorf("%v allocations to start and stop a timer", n)
	}
}
