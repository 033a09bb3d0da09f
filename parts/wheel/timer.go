package wheel

// Timer runs a function some time after it was started. It is to be embedded in what waits, and not to be
// copied or used with two wheels.
type Timer struct {
	next, prev *Timer // nil: not pending
	f          func()
	deadline   uint64 // the tick before which it does not fire
	slot       uint16 // where it was placed
}

// Init sets the function, which runs without locks of the wheel's: it may start and stop timers, its own
// among them. It is called once, before the timer is started.
func (t *Timer) Init(f func()) { t.f = f }

func (t *Timer) pending() bool { return t.next != nil }

func (t *Timer) unlink() {
	t.prev.next, t.next.prev = t.next, t.prev
	t.next, t.prev = nil, nil
}

// list is a ring of timers, closed by one that never fires.
type list struct{ head Timer }

func (l *list) init() { l.head.next, l.head.prev = &l.head, &l.head }

// first is nil when there is none.
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

// takeAll moves the timers of another list, which has some, to this one, which has none.
func (l *list) takeAll(from *list) {
	l.head.next, l.head.prev = from.head.next, from.head.prev
	l.head.next.prev, l.head.prev.next = &l.head, &l.head
	from.init()
}
