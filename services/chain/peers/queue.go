package peers

import (
	"sync"
	"sync/atomic"
)

// frame is a message for one peer or several: its bytes are used again when the last has them.
type frame struct {
	bytes []byte
	left  atomic.Int32 // queues that have it, and the one that fills them
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// keptBytes bounds the buffers that are used again: a batch of transactions fits, blocks do not.
const keptBytes = 1 << 20

// newFrame returns the frame of a message, which the caller releases.
func newFrame(m message) *frame {
	f := frames.Get().(*frame)
	f.bytes = m.append(f.bytes[:0])
	f.left.Store(1)
	return f
}

func (f *frame) release() {
	if f.left.Add(-1) == 0 && cap(f.bytes) <= keptBytes {
		frames.Put(f)
	}
}

// Bounds of what waits to be sent.
const (
	queueMessages = 128      // for one peer; further ones are dropped
	queueBytes    = 32 << 20 // for one peer; a message may be larger where none waits
	allMessages   = 8192     // for all peers; further ones are refused
	alarmStalled  = 16       // stalled peers beyond which something is wrong with this node
)

// queue is what waits to be sent to a peer.
type queue struct {
	all *load
	out chan *frame

	mu      sync.Mutex // guards closed against put, and what is below
	closed  bool
	bytes   int
	dropped uint64
	stalled bool // a message was dropped, and the queue has not been empty since
}

func newQueue(all *load) *queue { return &queue{all: all, out: make(chan *frame, queueMessages)} }

// put adds a frame, or drops it and returns ErrFull.
func (q *queue) put(f *frame) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrGone
	}
	if !q.all.enter() {
		return ErrFull
	}
	if len(q.out) == cap(q.out) || len(q.out) > 0 && q.bytes+len(f.bytes) > queueBytes {
		q.all.messages.Add(-1)
		q.dropped++
		q.all.dropped.Add(1)
		q.stall(true)
		return ErrFull
	}
	f.left.Add(1)
	q.bytes += len(f.bytes)
	q.out <- f // there is room: only this method adds, with the lock
	return nil
}

// sent gives back the room of a frame that was taken from out, and the frame.
func (q *queue) sent(f *frame) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all.messages.Add(-1)
	q.bytes -= len(f.bytes)
	if len(q.out) == 0 {
		q.stall(false)
	}
	f.release()
}

// close drops what waits, and takes no more.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.stall(false)
	for len(q.out) > 0 {
		q.all.messages.Add(-1)
		(<-q.out).release()
	}
}

func (q *queue) stall(now bool) {
	if q.stalled != now {
		q.stalled = now
		q.all.stall(now)
	}
}

// load is what waits for all peers.
type load struct {
	messages, stalled atomic.Int64
	dropped, refused  atomic.Uint64
	alarm             func(on bool, stalled int64) // when the number of stalled peers passes alarmStalled
}

// enter counts a message, unless too many wait.
func (l *load) enter() bool {
	if l.messages.Add(1) <= allMessages {
		return true
	}
	l.messages.Add(-1)
	l.refused.Add(1)
	return false
}

func (l *load) stall(now bool) {
	if now {
		if n := l.stalled.Add(1); n == alarmStalled+1 {
			l.alarm(true, n)
		}
	} else if n := l.stalled.Add(-1); n == alarmStalled {
		l.alarm(false, n)
	}
}
