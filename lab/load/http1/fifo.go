package http1

// fifo is a queue that grows when it is full and otherwise reuses its memory.
type fifo[T any] struct {
	items []T // its length is a power of two, or 0
	head  uint
	len   int
}

func (q *fifo[T]) push(v T) {
	if q.len == len(q.items) {
		q.grow()
	}
	q.items[(q.head+uint(q.len))&uint(len(q.items)-1)] = v
	q.len++
}

// front returns the item that pop would return; the queue must not be empty.
func (q *fifo[T]) front() *T { return &q.items[q.head&uint(len(q.items)-1)] }

func (q *fifo[T]) pop() T {
	v := *q.front()
	q.head++
	q.len--
	return v
}

func (q *fifo[T]) grow() {
	bigger := make([]T, max(64, 2*len(q.items)))
	for i := range q.len {
		bigger[i] = q.items[(q.head+uint(i))&uint(len(q.items)-1)]
	}
	q.items, q.head = bigger, 0
}
