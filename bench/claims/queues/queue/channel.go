package queue

import "sync/atomic"

// Channel is a Go channel, with or without a buffer. The channel itself is never closed, so that a
// Put after Close is refused instead of causing a panic; a second channel signals the end to the
// workers.
type Channel[T any] struct {
	values  chan T
	done    chan struct{}
	closed  atomic.Bool
	refused atomic.Uint64
	waits   atomic.Uint64
	peak    atomic.Int64
}

// NewChannel returns a channel with room for capacity values; with 0, a value is passed to a
// waiting worker or refused.
func NewChannel[T any](capacity int) *Channel[T] {
	return &Channel[T]{values: make(chan T, capacity), done: make(chan struct{})}
}

func (q *Channel[T]) Put(_ uint64, v T) bool {
	if !q.closed.Load() {
		select {
		case q.values <- v:
			raise(&q.peak, int64(len(q.values)))
			return true
		default:
		}
	}
	q.refused.Add(1)
	return false
}

func (q *Channel[T]) Take(_ int, buf []T) int {
	select { // a select of two channels locks both: only a worker that must wait pays for that
	case buf[0] = <-q.values:
	default:
		q.waits.Add(1)
		select {
		case buf[0] = <-q.values:
		case <-q.done:
			return q.more(buf, 0)
		}
	}
	return q.more(buf, 1)
}

// more takes further values without waiting.
func (q *Channel[T]) more(buf []T, n int) int {
	for n < len(buf) {
		select {
		case buf[n] = <-q.values:
			n++
		default:
			return n
		}
	}
	return n
}

func (q *Channel[T]) Len() int { return len(q.values) }

func (q *Channel[T]) Close() {
	q.closed.Store(true)
	close(q.done)
}

func (q *Channel[T]) Stats() Stats {
	return Stats{Refused: q.refused.Load(), Waits: q.waits.Load(), Peak: int(q.peak.Load())}
}

func raise(peak *atomic.Int64, n int64) {
	for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
	}
}
