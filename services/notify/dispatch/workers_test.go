package dispatch

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/notify/timers"
)

// staff is a pool of workers that always have something to do, and counts those that are at an
// attempt.
type staff struct {
	t      *testing.T
	pool   *workers
	work   chan struct{} // closed when there is no more to do
	finish chan struct{} // a token ends an attempt
	cancel context.CancelFunc
	clock  sync.WaitGroup

	mu   sync.Mutex
	busy map[*worker]bool // workers at an attempt
	all  int              // that run
}

func newStaff(t *testing.T, target int) *staff {
	s := &staff{t: t, work: make(chan struct{}), finish: make(chan struct{}), busy: map[*worker]bool{}}
	w := timers.New(Tick)
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	s.clock.Go(func() { w.Run(ctx) })
	s.pool = newWorkers(w, target, s.run)
	return s
}

func (s *staff) run(w *worker) {
	s.count(w, +1, false)
	defer s.count(w, -1, false)
	for {
		select {
		case <-s.work:
			return
		default:
		}
		s.count(w, 0, true)
		w.begin()
		select {
		case <-s.finish:
		case <-s.work:
		}
		s.mu.Lock()
		delete(s.busy, w)
		s.mu.Unlock()
		if !w.end() {
			return
		}
	}
}

func (s *staff) count(w *worker, by int, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all += by
	if busy {
		s.busy[w] = true
	}
}

// wants checks how many workers run and how many of them hang.
func (s *staff) wants(when string, all, hanging int) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, hang := s.pool.count(); s.all != all || hang != hanging || len(s.busy) != all {
		s.t.Errorf("%s: %d run, %d at an attempt, %d hang; want %d, of which %d hang", when, s.all, len(s.busy), hang, all, hanging)
	}
}

// end ends n attempts.
func (s *staff) end(n int) {
	for range n {
		s.finish <- struct{}{}
		synctest.Wait()
	}
}

func (s *staff) stop() {
	close(s.work)
	s.pool.stop()
	s.wants("stopped", 0, 0)
	s.cancel()
	s.clock.Wait()
}

// After a second another worker takes the place of one whose attempt hangs; when that one comes
// back, a worker ends.
func TestHangingIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaff(t, 4)
		s.wants("at first", 4, 0)
		pass(hangAfter - Tick)
		s.wants("shortly before a second", 4, 0)
		pass(2 * Tick)
		s.wants("after a second", 8, 4)
		s.end(100)
		s.wants("when nothing hangs any more", 4, 0)
		s.stop()
	})
}

// However long attempts hang, their number beside the workers is bounded.
func TestHangingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const target = 100
		s := newStaff(t, target)
		pass(hangAfter*(maxHanging/target) + hangAfter/2)
		s.wants("on the way to the bound", target+maxHanging/target*target, maxHanging/target*target)
		pass(time.Hour)
		s.wants("at the bound", target+maxHanging, maxHanging)
		s.stop()
	})
}

// Workers can be made more and fewer while they run and hang.
func TestResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStaff(t, 3)
		s.wants("at first", 3, 0)
		s.pool.resize(8)
		s.wants("more", 8, 0)
		s.pool.resize(2)
		s.wants("fewer, but all are at something", 8, 0)
		s.end(6)
		s.wants("fewer", 2, 0)
		pass(hangAfter + Tick)
		s.wants("two hang", 4, 2)
		s.pool.resize(1)
		s.end(24)
		s.wants("one", 1, 0)
		s.pool.resize(MaxWorkers)
		s.wants("as many as there may be", MaxWorkers, 0)
		pass(hangAfter + Tick)
		s.wants("as many as there may be hang", MaxWorkers+maxHanging, maxHanging)
		s.stop()
	})
}

// pass lets time pass on the bubble's clock, and what it brings about be done.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
