package ticker

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Worker runs the ticks of many in one goroutine: all that it is given stay with it. A tick that
// takes long makes the others late, as it would on a processor of its own.
type Worker struct {
	wake chan struct{} // holds a value when an earlier deadline was added

	mu    sync.Mutex
	ended bool
	count int
	tasks tasks
}

// task is a tick of a Worker.
type task struct {
	schedule
	tick func() bool
	end  func()
}

// NewWorker makes a worker, which Run runs.
func NewWorker() *Worker { return &Worker{wake: make(chan struct{}, 1)} }

// Add has the worker call tick at each deadline until it returns false or the worker ends, and then
// end. Both are called on the worker's goroutine, which they should not hold up. False: the worker
// has ended, and calls neither.
func (w *Worker) Add(o Options, tick func() bool, end func()) (added bool, err error) {
	if o, err = o.checked(); err != nil {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false, nil
	}
	w.count++
	heap.Push(&w.tasks, &task{o.begin(), tick, end})
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return true, nil
}

// Len is how many ticks the worker has.
func (w *Worker) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Run runs what was added, and what still is, until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for ctx.Err() == nil {
		t, left := w.next()
		if t != nil {
			w.meet(t)
			continue
		}
		alarm.Reset(left)
		select {
		case <-alarm.C:
		case <-w.wake:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	w.ended, w.count = true, 0
	left := w.tasks
	w.tasks = nil
	w.mu.Unlock()
	for _, t := range left {
		t.end()
	}
}

// next takes the task whose deadline is over the longest, or returns when the first is due.
func (w *Worker) next() (t *task, left time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.tasks) == 0 {
		return nil, time.Hour
	}
	if left = time.Until(w.tasks[0].due); left > 0 {
		return nil, left
	}
	return heap.Pop(&w.tasks).(*task), 0
}

// meet runs the tick of a task, and puts it back unless that was the last.
func (w *Worker) meet(t *task) {
	alive := true
	t.meet(func() { alive = t.tick() })
	w.mu.Lock()
	if alive {
		heap.Push(&w.tasks, t)
	} else {
		w.count--
	}
	w.mu.Unlock()
	if !alive {
		t.end()
	}
}

// tasks is a heap, the earliest deadline first.
type tasks []*task

func (h tasks) Len() int           { return len(h) }
func (h tasks) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h tasks) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *tasks) Push(x any)        { *h = append(*h, x.(*task)) }
func (h *tasks) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil // for the garbage collector
	*h = (*h)[:last]
	return t
}
