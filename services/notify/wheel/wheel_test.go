package wheel

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

// running calls body in a bubble with a running wheel, and stops it.
func running(t *testing.T, tick time.Duration, body func(t *testing.T, w *Wheel)) {
	synctest.Test(t, func(t *testing.T) {
		w := New(tick)
		ctx, end := context.WithCancel(t.Context())
		var runs sync.WaitGroup
		runs.Go(func() { w.Run(ctx) })
		body(t, w)
		end()
		runs.Wait()
	})
}

func TestFiresWithinATick(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
		for _, d := range []time.Duration{
			-time.Second, 0, 1, time.Millisecond - 1, time.Millisecond, time.Millisecond + 1,
			63 * time.Millisecond, 64 * time.Millisecond, 65 * time.Millisecond, 4095 * time.Millisecond,
			4096 * time.Millisecond, time.Hour, 24 * time.Hour, 30 * 24 * time.Hour, 100 * 365 * 24 * time.Hour,
		} {
			start, fired := time.Now(), make(chan time.Time)
			var timer Timer
			timer.Init(func() { fired <- time.Now() })
			w.Start(&timer, d)
			if late := (<-fired).Sub(start) - max(d, 0); late < 0 || late > time.Millisecond {
				t.Errorf("a timer of %v fires %v late", d, late)
			}
			if w.Len() != 0 {
				t.Errorf("%d timers pending after the only one fired", w.Len())
			}
			time.Sleep(333 * time.Microsecond) // start the next one within a tick
		}
	})
}

func TestBeyondAllTime(t *testing.T) {
	for _, tick := range []time.Duration{1, 7, time.Millisecond, time.Hour} {
		running(t, tick, func(t *testing.T, w *Wheel) {
			var timer Timer
			timer.Init(func() { t.Errorf("fires, with ticks of %v", tick) })
			time.Sleep(time.Hour)
			w.Start(&timer, math.MaxInt64)
			if n := time.Duration(timer.deadline); n < 0 || n > math.MaxInt64/tick {
				t.Errorf("due at tick %d, which has no time", timer.deadline)
			}
			time.Sleep(200 * 365 * 24 * time.Hour)
			if !w.Stop(&timer) {
				t.Errorf("not pending after 200 years, with ticks of %v", tick)
			}
		})
	}
}

func TestEarlierTimerWakesRun(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
		var late, soon Timer
		fired := make(chan time.Time, 1)
		late.Init(func() {})
		soon.Init(func() { fired <- time.Now() })
		w.Start(&late, time.Hour)
		synctest.Wait() // Run sleeps for about an hour
		start := time.Now()
		w.Start(&soon, time.Second)
		if took := (<-fired).Sub(start); took != time.Second {
			t.Errorf("fires after %v", took)
		}
		if !w.Stop(&late) {
			t.Error("the late timer is gone")
		}
	})
}

func TestSleepsWhileEmpty(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
		var timer Timer
		timer.Init(func() {})
		w.Start(&timer, time.Second)
		time.Sleep(time.Minute)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.alarm != never {
			t.Errorf("empty, and wakes at tick %d", w.alarm)
		}
	})
}

func TestStopMeansNever(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
		var a, b Timer
		inside := make(chan struct{})
		release := make(chan struct{})
		a.Init(func() { close(inside); <-release })
		b.Init(func() { t.Error("a stopped timer fires") })
		if w.Stop(&a) {
			t.Error("stopped a timer that was never started")
		}
		w.Start(&a, time.Second)
		w.Start(&b, time.Second)
		<-inside
		if w.Stop(&a) {
			t.Error("stopped a timer that is running")
		}
		if !w.Stop(&b) {
			t.Error("could not stop a timer that is due and waits for another")
		}
		if w.Stop(&b) {
			t.Error("stopped a timer twice")
		}
		close(release)
		time.Sleep(time.Hour)
		if w.Stop(&a) {
			t.Error("stopped a timer that has run")
		}
	})
}

func TestStartMoves(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
		var timer Timer
		var fired []time.Duration
		start := time.Now()
		timer.Init(func() { fired = append(fired, time.Since(start)) })
		w.Start(&timer, time.Hour)
		w.Start(&timer, time.Second)
		w.Start(&timer, time.Minute)
		if w.Len() != 1 {
			t.Errorf("%d timers pending", w.Len())
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
func TestFunctionsUseTheWheel(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
		var greedy, stopped, started, end Timer
		rounds, done := 0, make(chan struct{})
		greedy.Init(func() {
			if rounds++; rounds == 1 {
				if !w.Stop(&stopped) {
					t.Error("a function cannot stop another timer")
				}
				w.Start(&started, 5*time.Millisecond)
			}
			w.Start(&greedy, 0)
		})
		stopped.Init(func() { t.Error("a stopped timer fires") })
		started.Init(func() { w.Start(&end, 5*time.Millisecond) })
		end.Init(func() { w.Stop(&greedy); close(done) })
		w.Start(&stopped, time.Millisecond)
		w.Start(&greedy, 0)
		<-done
		if rounds < 10 || rounds > 12 {
			t.Errorf("a timer that restarts itself ran %d times in 10 ticks", rounds)
		}
		if w.Len() != 0 {
			t.Errorf("%d timers left", w.Len())
		}
	})
}

// However many timers are due at a time, their functions take one goroutine, as those of
// time.AfterFunc do not: what is due after a pause of the process takes no memory.
func TestFunctionsRunOneByOne(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
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
			w.Start(&timers[i], time.Second)
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
		w := New(time.Millisecond)
		ctx, end := context.WithCancel(t.Context())
		var first, second Timer
		first.Init(end)
		fired := 0
		second.Init(func() { fired++ })
		w.Start(&first, time.Second)
		w.Start(&second, time.Second)
		w.Run(ctx)
		time.Sleep(time.Hour)
		if fired != 0 || w.Len() != 1 {
			t.Fatalf("after the end of Run's context %d fired and %d are pending", fired, w.Len())
		}
		again, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		w.Run(again)
		if fired != 1 {
			t.Error("another Run does not take over what is due")
		}
	})
}

func TestFromManyGoroutines(t *testing.T) {
	running(t, time.Millisecond, func(t *testing.T, w *Wheel) {
		const each = 1000
		var fired, stopped [4]int
		var all sync.WaitGroup
		for g := range fired {
			all.Go(func() {
				timers := make([]Timer, each)
				for i := range timers {
					timers[i].Init(func() { fired[g]++ })
					w.Start(&timers[i], time.Duration(i%70)*time.Millisecond)
					if i%3 == 0 {
						time.Sleep(time.Millisecond)
						if w.Stop(&timers[i/2]) {
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
	w := New(time.Millisecond)
	var timer Timer
	timer.Init(func() {})
	if n := testing.AllocsPerRun(100, func() { w.Start(&timer, time.Hour); w.Stop(&timer) }); n != 0 {
		t.Errorf("%v allocations to start and stop a timer", n)
	}
}
