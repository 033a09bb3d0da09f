package jsonrpc

import "sync"

// frame is a message to be sent.
type frame struct {
	text []byte
	x    *exchange // has the text, and is used again once that is sent; nil: none
}

// queue is what waits to be sent on a connection. Beyond max bytes it takes a frame only if it is
// empty, so that an answer may be larger.
type queue struct {
	max int // bytes

	mu         sync.Mutex
	more, room sync.Cond
	frames     []frame
	bytes      int  // with the frame that is being sent
	finished   bool // no frame is added
	dropped    bool // no frame is sent
}

func newQueue(max int) *queue {
	q := &queue{max: max}
	q.more.L, q.room.L = &q.mu, &q.mu
	return q
}

// put adds a frame, and waits for room if wait is set. False: there is no room, or the queue has
// ended.
func (q *queue) put(f frame, wait bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.finished && q.bytes > 0 && q.bytes+len(f.text) > q.max {
		if !wait {
			return false
		}
		q.room.Wait()
	}
	if q.finished {
		return false
	}
	q.frames = append(q.frames, f)
	q.bytes += len(f.text)
	q.more.Signal()
	return true
}

// waitForRoom waits until at least half of the queue is free, or it has ended.
func (q *queue) waitForRoom() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.finished && q.bytes > q.max/2 {
		q.room.Wait()
	}
}

// next waits for a frame. False: there will be none.
func (q *queue) next() (frame, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.frames) == 0 && !q.finished {
		q.more.Wait()
	}
	if q.dropped || len(q.frames) == 0 {
		return frame{}, false
	}
	f := q.frames[0]
	q.frames[0] = frame{}
	q.frames = q.frames[1:]
	return f, true
}

// sent gives back the room of a frame of next.
func (q *queue) sent(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= n
	q.room.Broadcast()
}

// end makes next return what is there and then false; drop also discards what is there.
func (q *queue) end(drop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finished, q.dropped = true, q.dropped || drop
	q.more.Broadcast()
	q.room.Broadcast()
}
