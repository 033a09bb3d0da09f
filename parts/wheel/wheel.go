// Package wheel keeps very many timers cheaply: a hierarchical timing wheel, in which to start or stop a
// timer is a constant amount of work and no allocation, at the price of a fixed resolution. A dispatcher
// with a million keys that wait for their next attempt has a million timers; the runtime's own are a heap.
//
// What that is worth with a million other timers pending: to start and stop one costs a quarter of what
// time.AfterFunc and its Stop cost (which also allocate 112 B), and 0.7 of Reset and Stop of a runtime
// timer that is kept; to start one and let it fire costs a thirteenth of the CPU time, because the runtime
// starts a goroutine for each function; and it holds 40 B, embedded in what waits, where AfterFunc holds
// about 110 B of its own. (Ratios of medians of six passes of go test -run ^$ -bench . ./parts/wheel, Go
// 1.26, 2 virtual cores of a Xeon that others used too: about 140, 590 and 200 ns to start and stop, 0.2
// and 2.7 us of CPU to fire.)
//
// It is not for precision (a timer fires up to one tick late, never early, if the functions of the timers
// before it were short) nor for periodic work.
//
// A Wheel owns no goroutine. Run is one of its caller's; the functions of timers run in it, one after the
// other, so they must be short. Under testing/synctest it is deterministic: it sleeps until the next timer
// is due or goes down a level, and not at all while there is none.
package wheel

import (
	"context"
	"math"
	"sync"
	"time"
)

// The wheel counts time in ticks since New. A timer's slot is found by the highest digit, to the base 64,
// in which its deadline differs from the present: a timer of level 0 is due in this round of 64 ticks, one of
// level 1 in this round of 64 rounds. When time comes to a slot of a higher level, its timers go down into
// lower ones, by their other digits: at most once a level, and in practice two or three times.
//
// G. Varghese, T. Lauck: Hashed and Hierarchical Timing Wheels, SOSP 1987, scheme 7.
const (
	digit  = 6          // bits
	slots  = 1 << digit // of a level; as many as a word has bits, so that one word tells which are occupied
	levels = 11         // 66 bits: every time.Duration has its slot, and there is no horizon to care for

	// batch is how many timers go down a level before others get the lock: 256 cache misses are some 25 us.
	batch = 256

	never   = math.MaxUint64               // a tick
	forever = time.Duration(math.MaxInt64) // until something is started
)

// Wheel is a set of timers. All methods may be called from any goroutine.
type Wheel struct {
	tick   time.Duration
	origin time.Time     // of the ticks
	wake   chan struct{} // holds at most one

	mu       sync.Mutex
	cursor   uint64         // the first tick whose timers have not fired
	occupied [levels]uint64 // bit s of word l: slot s of level l has timers
	slots    [levels * slots]list
	due      list   // timers taken from the slot before cursor, to fire now
	pending  int    // timers started, which neither fired nor were stopped
	alarm    uint64 // the tick at which Run wakes by itself; 0: it is awake
}

// New returns a wheel that counts in ticks; 0 or less: 1 ms. Fine ticks are no dearer than coarse ones as long
// as nothing is due: time passes without work.
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

// Run fires timers until ctx ends, and then no more: those that are left stay pending. Timers of one tick
// fire in no particular order. Only one Run at a time; another may follow it.
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

// Start lets t fire after d (0 or less: at the next turn). A timer that is pending is moved. When t's
// function runs just now, it will run once more.
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

// Stop reports whether it kept t from firing: then its function will not run. It is false when the function
// has run, runs now or was not to run, and does not wait for it.
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

// deadline is the first tick that does not begin before d has passed.
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
