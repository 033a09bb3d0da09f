// Package wheel holds very many timers cheaply: a hierarchical timing wheel, in which starting or
// stopping a timer takes constant time and no allocation, at the price of a fixed resolution. A
// dispatcher with a million keys that wait for their next attempt has a million timers; the
// runtime's own timers are in a heap.
//
// What time.AfterFunc cannot give is a bound of the memory when many timers are due at a time, as
// after a virtual machine or a process was stopped for a while: the runtime starts a goroutine for
// each, the wheel runs all in one. A million that are due together take about 2 GB of stacks with
// AfterFunc, and none with the wheel (BenchmarkVolley).
//
// Its cost with a million other timers pending: starting and stopping a timer costs a quarter of
// time.AfterFunc and Stop (which also allocate 112 B), and 0.7 of Reset and Stop of a reused
// runtime timer; starting a timer and letting it fire costs a thirteenth of the CPU time, because
// the runtime starts a goroutine for each function; and it takes 40 B, embedded in the value that
// waits, where AfterFunc takes about 110 B. (Ratios of medians of six passes of go test -run ^$
// -bench . ./services/notify/wheel, Go 1.26, 2 virtual cores of a shared Xeon: about 140, 590 and
// 200 ns to start and stop, 0.2 and 2.7 us of CPU to fire.)
//
// It is not for precision (a timer fires up to one tick late, never early, if the functions of the
// timers before it were short) nor for periodic work.
//
// A Wheel owns no goroutine. The caller runs Run in one; the timers' functions run in it, one after
// the other, so they must be short. Under testing/synctest it is deterministic: it sleeps until the
// next timer is due or moves down a level, and does not wake while there is none.
package wheel

import (
	"context"
	"math"
	"sync"
	"time"
)

// The wheel counts time in ticks since New. A timer's slot is given by the highest digit, to the
// base 64, in which its deadline differs from the present: a timer of level 0 is due in this round
// of 64 ticks, one of level 1 in this round of 64 rounds. When time reaches a slot of a higher
// level, its timers move down by their lower digits: at most once per level, and in practice two or
// three times.
//
// G. Varghese, T. Lauck: Hashed and Hierarchical Timing Wheels, SOSP 1987, scheme 7.
const (
	digit  = 6          // bits
	slots  = 1 << digit // of a level; as many as a word has bits, so one word shows which are occupied
	levels = 11         // 66 bits: every time.Duration has a slot, so there is no horizon

	// batch is how many timers move down a level before the lock is released: 256 cache misses take
	// some 25 us.
	batch = 256

	never   = math.MaxUint64               // a tick
	forever = time.Duration(math.MaxInt64) // until a timer is started
)

// Wheel is a set of timers. Its methods are safe for concurrent use.
type Wheel struct {
	tick   time.Duration
	origin time.Time     // time of tick 0
	wake   chan struct{} // holds at most one value

	mu       sync.Mutex
	cursor   uint64         // the first tick whose timers have not fired
	occupied [levels]uint64 // bit s of word l: slot s of level l has timers
	slots    [levels * slots]list
	due      list   // timers taken from the slot before cursor, which fire now
	pending  int    // timers that were started, and neither fired nor were stopped
	alarm    uint64 // tick at which Run wakes; 0: it is awake
}

// New returns a wheel that counts in ticks of a duration; 0 or less means 1 ms. Short ticks cost no
// more than long ones: while no timer is due, time passes without work.
func New(tick time.Duration) *Wheel {
	if tick <= 0 {
		tick = time.Millisecond
	}
	w := &Wheel{tick: tick, origin: time.Now(), wake: make(chan struct{}, 1)}
	for i := range w.slots {
		w.slots[i].init()
	}
	w.due.init()
	return w
}

// Run fires timers until ctx ends; remaining timers stay pending. Timers of one tick fire in no
// particular order. Runs must not overlap; another may follow.
func (w *Wheel) Run(ctx context.Context) {
	clock := time.NewTimer(math.MaxInt64)
	defer clock.Stop()
	for ctx.Err() == nil {
		t, sleep := w.turn()
		switch {
		case t != nil:
			t.f()
			continue
		case sleep <= 0:
			continue
		case sleep == forever:
			clock.Stop()
		default:
			clock.Reset(sleep)
		}
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-clock.C:
		}
	}
}

// Start makes t fire after d (0 or less: in the next turn). A pending timer is moved. If t's
// function is running, it will run once more.
func (w *Wheel) Start(t *Timer, d time.Duration) {
	deadline := w.deadline(d)
	w.mu.Lock()
	if t.pending() {
		w.unlink(t)
	}
	t.deadline = deadline
	w.place(t)
	earlier := deadline < w.alarm
	if earlier {
		w.alarm = 0
	}
	w.mu.Unlock()
	if earlier {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Stop reports whether it prevented t from firing: its function will then not run. It returns false
// when the function has run, is running or was not scheduled, and does not wait for it.
func (w *Wheel) Stop(t *Timer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !t.pending() {
		return false
	}
	w.unlink(t)
	return true
}

// Len returns how many timers are pending.
func (w *Wheel) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending
}

// deadline returns the first tick that does not begin before d has passed.
func (w *Wheel) deadline(d time.Duration) uint64 {
	at := time.Since(w.origin)
	if d > math.MaxInt64-at {
		d = math.MaxInt64 - at // 292 years
	}
	at += max(d, 0)
	ticks := at / w.tick
	if at%w.tick != 0 && ticks < math.MaxInt64/w.tick {
		ticks++
	}
	return uint64(ticks)
}
