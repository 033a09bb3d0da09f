package wheel

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// The benchmarks compare the wheel (1 ms ticks) with time.AfterFunc while a million other timers
// are pending, spread over the next hours like waiting attempts.
//
//	StartStop  starts a timer and stops it; "reset" reuses the runtime's timer, as the wheel does
//	Start      starts the million, in random order; B/timer is the memory they hold afterwards
//	Volley     lets the million fire together; stack-B/timer is what the process then has for stacks
//	Fire       CPU time of the whole process per timer that is due within 10 ms, until it has run
const crowd = 1_000_000

func waits(n int) []time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Hour + time.Duration(r.Int64N(int64(23*time.Hour)))
	}
	return all
}

func BenchmarkStartStop(b *testing.B) {
	after := waits(crowd)
	nothing := func() {}
	b.Run("wheel", func(b *testing.B) {
		w, _ := crowdedWheel(after)
		var t Timer
		t.Init(nothing)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			w.Start(&t, after[i%crowd])
			w.Stop(&t)
		}
		runtime.KeepAlive(w)
	})
	b.Run("afterfunc", func(b *testing.B) {
		timers := crowdedRuntime(after)
		defer stopAll(timers)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			time.AfterFunc(after[i%crowd], nothing).Stop()
		}
	})
	b.Run("reset", func(b *testing.B) {
		timers := crowdedRuntime(after)
		defer stopAll(timers)
		t := time.AfterFunc(time.Hour, nothing)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			t.Reset(after[i%crowd])
			t.Stop()
		}
	})
}

func BenchmarkStart(b *testing.B) {
	after := waits(crowd)
	b.Run("wheel", func(b *testing.B) {
		for b.Loop() {
			before := heap(b)
			w, timers := crowdedWheel(after)
			report(b, heap(b)-before)
			runtime.KeepAlive(w)
			runtime.KeepAlive(timers)
		}
		perTimer(b, float64(b.Elapsed().Nanoseconds()), "ns/timer")
	})
	b.Run("afterfunc", func(b *testing.B) {
		for b.Loop() {
			before := heap(b)
			timers := crowdedRuntime(after)
			report(b, heap(b)-before)
			b.StopTimer()
			stopAll(timers)
			b.StartTimer()
		}
		perTimer(b, float64(b.Elapsed().Nanoseconds()), "ns/timer")
	})
}

func BenchmarkVolley(b *testing.B) {
	volley := func(b *testing.B, prepare func(f func()) (start func(i int, d time.Duration))) {
		for b.Loop() {
			var mu sync.Mutex // of a receiver
			left, all := crowd, make(chan struct{})
			start := prepare(func() {
				mu.Lock()
				defer mu.Unlock()
				if left--; left == 0 {
					close(all)
				}
			})
			at := time.Now().Add(5 * time.Second)
			for i := range crowd {
				start(i, time.Until(at))
			}
			<-all
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.StackSys)/crowd, "stack-B/timer")
		}
		b.ReportMetric(0, "ns/op") // mostly waiting
	}
	b.Run("wheel", func(b *testing.B) {
		w := New(time.Millisecond)
		ctx, end := context.WithCancel(b.Context())
		var runs sync.WaitGroup
		runs.Go(func() { w.Run(ctx) })
		volley(b, func(f func()) func(int, time.Duration) {
			timers := make([]Timer, crowd)
			for i := range timers {
				timers[i].Init(f)
			}
			return func(i int, d time.Duration) { w.Start(&timers[i], d) }
		})
		end()
		runs.Wait()
	})
	b.Run("afterfunc", func(b *testing.B) {
		volley(b, func(f func()) func(int, time.Duration) {
			return func(_ int, d time.Duration) { time.AfterFunc(d, f) }
		})
	})
}

func BenchmarkFire(b *testing.B) {
	const volley = 100_000
	after := waits(crowd)
	soon := func(i int) time.Duration { return time.Duration(i%10_000) * time.Microsecond }
	b.Run("wheel", func(b *testing.B) {
		w, _ := crowdedWheel(after)
		ctx, end := context.WithCancel(b.Context())
		var runs sync.WaitGroup
		runs.Go(func() { w.Run(ctx) })
		fire(b, volley, func(f func()) func(int) {
			timers := make([]Timer, volley)
			for i := range timers {
				timers[i].Init(f)
			}
			return func(i int) { w.Start(&timers[i], soon(i)) }
		})
		end()
		runs.Wait()
	})
	b.Run("afterfunc", func(b *testing.B) {
		timers := crowdedRuntime(after)
		defer stopAll(timers)
		fire(b, volley, func(f func()) func(int) {
			return func(i int) { time.AfterFunc(soon(i), f) }
		})
	})
}

// fire starts n timers at a time and waits until all have run.
func fire(b *testing.B, n int, prepare func(f func()) (start func(i int))) {
	var left atomic.Int64
	all := make(chan struct{})
	start := prepare(func() {
		if left.Add(-1) == 0 {
			all <- struct{}{}
		}
	})
	before := cpu(b)
	b.ReportAllocs()
	for b.Loop() {
		left.Store(int64(n))
		for i := range n {
			start(i)
		}
		<-all
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/float64(n), "cpu-ns/timer")
	b.ReportMetric(0, "ns/op") // mostly waiting
}

func crowdedWheel(after []time.Duration) (*Wheel, []Timer) {
	w := New(time.Millisecond)
	timers := make([]Timer, len(after))
	nothing := func() {}
	for i := range timers {
		timers[i].Init(nothing)
		w.Start(&timers[i], after[i])
	}
	return w, timers
}

func crowdedRuntime(after []time.Duration) []*time.Timer {
	timers := make([]*time.Timer, len(after))
	nothing := func() {}
	for i := range timers {
		timers[i] = time.AfterFunc(after[i], nothing)
	}
	return timers
}

func stopAll(timers []*time.Timer) {
	for _, t := range timers {
		t.Stop()
	}
}

func heap(b *testing.B) int64 {
	b.StopTimer()
	defer b.StartTimer()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func report(b *testing.B, bytes int64) { b.ReportMetric(float64(bytes)/crowd, "B/timer") }

func perTimer(b *testing.B, sum float64, unit string) {
	b.ReportMetric(sum/float64(b.N)/crowd, unit)
	b.ReportMetric(0, "ns/op")
}

func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
