package wheel

// Timer runs a function some time after it was started. Embed it in the value that waits; do not
// copy it or use it with two wheels.
type Timer struct {
	next, prev *Timer // nil means not pending
	f          func()
	deadline   uint64 // first tick in which it may fire
	slot       uint16 // where it was placed
}

// Init sets the function. It runs without the wheel's locks: it may start and stop timers,
// including its own. Init is called once, before the timer is started.
func (t *Timer) Init(f func()) { t.f = f }

func (t *Timer) pending() bool { return t.next != nil }

func (t *Timer) unlink() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
}

// list is a ring of timers, closed by a sentinel that never fires.
type list struct{ head Timer }

func (l *list) init() { l.head.next, l.head.prev = &l.head, &l.head }

// first returns nil when the list is empty.
func (l *list) first() *Timer {
	if l.head.next == &l.head {
		return nil
	}
	return l.head.next
}

func (l *list) append(t *Timer) {
	t.next, t.prev = &l.head, l.head.prev
	t.prev.next, l.head.prev = t, t
}

// takeAll moves the timers of another, non-empty list to this empty one.
func (l *list) takeAll(from *list) {
	l.head.next, l.head.prev = from.head.next, from.head.prev
	l.head.next.prev, l.head.prev.next = &l.head, &l.head
	from.init()
}
