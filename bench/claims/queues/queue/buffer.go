package queue

// buffer is a ring whose length is a power of two. It doubles when it is full, up to its cap; it
// does not shrink: a service that needed the memory once will need it again. It is not safe for
// concurrent use.
type buffer[T any] struct {
	slots   []T
	head    int // index of the oldest value
	n       int
	cap     int
	growths uint64
	peak    int
}

// firstSlots is the initial size of a ring: about one page of pointers.
const firstSlots = 64

func (b *buffer[T]) push(v T) bool {
	if b.n == b.cap {
		return false
	}
	if b.n == len(b.slots) {
		b.grow()
	}
	b.slots[(b.head+b.n)&(len(b.slots)-1)] = v
	b.n++
	b.peak = max(b.peak, b.n)
	return true
}

func (b *buffer[T]) grow() {
	size := max(firstSlots, 2*len(b.slots))
	if len(b.slots) > 0 {
		b.growths++
	}
	slots := make([]T, size)
	k := copy(slots, b.slots[b.head:])
	copy(slots[k:], b.slots[:b.head])
	b.slots, b.head = slots, 0
}

// pop moves the oldest values to buf and returns how many. It clears their slots, so that they keep
// nothing alive.
func (b *buffer[T]) pop(buf []T) int {
	n := min(len(buf), b.n)
	first := b.slots[b.head:min(b.head+n, len(b.slots))]
	rest := b.slots[:n-len(first)]
	copy(buf[copy(buf, first):], rest)
	clear(first)
	clear(rest)
	if b.n -= n; b.n == 0 {
		b.head = 0
	} else {
		b.head = (b.head + n) & (len(b.slots) - 1)
	}
	return n
}
