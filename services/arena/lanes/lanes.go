// Package lanes runs work in the background, in the order of its topic: a topic's hash chooses the
// worker, so that work of one topic never runs beside, or before, earlier work of the same topic.
//
//	l := lanes.New(lanes.Config{Workers: 4, Waiting: 256})
//	if !l.Try(room, func() { file.Append(block) }) {
//		// the worker is 256 behind: drop it, or report it
//	}
//	l.Close()
//
// It is for what a caller that must not wait leaves to others: writing, sending, telling. Topics of
// the same worker wait for each other. It is not for work with an answer (services/orders/batcher,
// services/chain/limiter).
//
// Lanes owns its workers. Close lets them do what waits, and waits for them.
package lanes

import (
	"hash/maphash"
	"runtime"
	"sync"
)

// Config sizes Lanes.
type Config struct {
	Workers int // 0: the number of processors
	Waiting int // work that may wait for a worker; 0: 256
}

// Lanes runs work. All methods are safe for concurrent use.
type Lanes struct {
	seed    maphash.Seed
	workers sync.WaitGroup
	queues  []chan func()

	mu     sync.RWMutex
	closed bool
}

// New starts the workers.
func New(c Config) *Lanes {
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if c.Waiting <= 0 {
		c.Waiting = 256
	}
	l := &Lanes{seed: maphash.MakeSeed()}
	for range c.Workers {
		queue := make(chan func(), c.Waiting)
		l.queues = append(l.queues, queue)
		l.workers.Go(func() {
			for do := range queue {
				do()
			}
		})
	}
	return l
}

// Try leaves work to the topic's worker, without waiting. False: too much waits for that worker, or
// Close was called; the work is not done.
func (l *Lanes) Try(topic string, do func()) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return false
	}
	select {
	case l.queues[maphash.String(l.seed, topic)%uint64(len(l.queues))] <- do:
		return true
	default:
		return false
	}
}

// Close ends the workers when they have done what waits. Work must not call it.
func (l *Lanes) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		for _, queue := range l.queues {
			close(queue)
		}
	}
	l.mu.Unlock()
	l.workers.Wait()
}
