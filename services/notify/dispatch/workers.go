package dispatch

import (
	"sync"
	"time"

	"dyno/services/notify/timers"
)

const (
	// MaxWorkers bounds the workers, without those that hang.
	MaxWorkers = 4096

	// hangAfter is how long an attempt may take before it hangs: its worker no longer counts, and
	// another takes its place. A second: far longer than a healthy receiver takes, far below the
	// time-out.
	hangAfter = time.Second

	// maxHanging bounds the attempts that hang beside the workers: each is a goroutine, a connection
	// and a body, some 50 KB.
	maxHanging = 1024
)

// workers run a function that takes a worker and returns when there is no more to do.
type workers struct {
	timers *timers.Queue
	run    func(w *worker)
	wg     sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	target  int        // workers wanted, without those that hang
	present int        // workers that run, without those that hang
	hanging int
	stopped bool
}

// worker is one of them.
type worker struct {
	pool  *workers
	timer timers.Timer

	sending bool // guarded by the pool's mutex, as is hangs
	hangs   bool // its attempt takes too long
}

func newWorkers(t *timers.Queue, target int, run func(*worker)) *workers {
	p := &workers{timers: t, run: run}
	p.resize(target)
	return p
}

// resize changes how many workers there should be. Surplus workers end after their attempt.
func (p *workers) resize(target int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	p.fill()
}

// fill starts the workers that are missing.
func (p *workers) fill() {
	for !p.stopped && p.present < p.target {
		w := &worker{pool: p}
		w.timer.Init(w.hang)
		p.present++
		p.wg.Go(func() { p.run(w) })
	}
}

// begin and end enclose an attempt. end reports whether the worker should go on.
func (w *worker) begin() {
	w.pool.mu.Lock()
	w.sending = true
	w.pool.mu.Unlock()
	w.pool.timers.Start(&w.timer, hangAfter)
}

func (w *worker) end() (goOn bool) {
	p := w.pool
	p.timers.Stop(&w.timer)
	p.mu.Lock()
	defer p.mu.Unlock()
	w.sending = false
	if w.hangs {
		w.hangs = false
		p.hanging--
		p.present++
	}
	if p.present > p.target {
		p.present--
		return false
	}
	return true
}

// hang lets another worker take the place of one whose attempt takes too long.
func (w *worker) hang() {
	p := w.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hanging < maxHanging && w.sending && !w.hangs {
		w.hangs = true
		p.hanging++
		p.present--
		p.fill()
	}
}

// count returns how many workers there should be, and how many hang.
func (p *workers) count() (target, hanging int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target, p.hanging
}

// stop starts no more workers and waits for all; the caller has closed their queue.
func (p *workers) stop() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.wg.Wait()
}
