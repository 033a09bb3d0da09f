package notify

import (
	"errors"
	"sync"

	"dyno/parts/wal"
	"dyno/services/notify/push"
)

// recentNotices are kept for streams that follow the log closely, so that each notice is encoded once for all
// of them. A power of two; at 256 bytes each, half a megabyte.
const recentNotices = 1024

// recentBytes is what a notice may have to be kept there: all together are some megabytes.
const recentBytes = 4 << 10

// tail is the log of notices as streams see it.
type tail struct {
	d *Dispatcher

	mu     sync.Mutex
	more   chan struct{} // closed when there are more; nil: nobody waits
	closed bool
	next   uint64 // the first number that is not among the recent
	recent [recentNotices]*notice
}

func newTail(d *Dispatcher) *tail { return &tail{d: d, next: d.head.Load()} }

// grow is told what was routed.
func (t *tail) grow(notices []*notice) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	first := notices[0].seq
	for _, n := range notices {
		if n.size() > recentBytes {
			n = nil
		}
		t.recent[first%recentNotices] = n
		first++
	}
	t.next = first
	if t.more != nil {
		close(t.more)
		t.more = nil
	}
}

func (t *tail) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed = true; t.more != nil {
		close(t.more)
		t.more = nil
	}
}

// Wait is for push.Source.
func (t *tail) Wait(next uint64) (more <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false
	}
	if next < t.next {
		return alreadyMore, true
	}
	if t.more == nil {
		t.more = make(chan struct{})
	}
	return t.more, true
}

var alreadyMore = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Bounds is for push.Source.
func (t *tail) Bounds() (first, next uint64) {
	first, _ = t.d.notices.Bounds()
	return first, t.d.head.Load()
}

// Scan is for push.Source.
func (t *tail) Scan(from uint64, visit func(push.Notice) error) (first uint64, err error) {
	first = from
	for {
		n := t.get(from)
		if n == nil {
			break
		}
		if err := visit(streamed(n)); err != nil {
			return first, err
		}
		from++
	}
	if from >= t.d.head.Load() {
		return first, nil
	}
	began := from
	for {
		err := t.d.notices.Scan(from, func(seq uint64, record []byte) error {
			n, err := decodeRecord(seq, record)
			if err != nil {
				return &wal.DamageError{From: seq, Next: seq + 1, Where: err.Error()}
			}
			return visit(streamed(n))
		})
		var trimmed *wal.TrimmedError
		var damage *wal.DamageError
		switch {
		case errors.As(err, &trimmed) && trimmed.First > from:
			if from == began {
				first = trimmed.First
			}
			from = trimmed.First
		case errors.As(err, &damage) && damage.Next > from:
			from = damage.Next // the stream sees that numbers are missing, and says so
		default:
			return first, err
		}
	}
}

func streamed(n *notice) push.Notice {
	envelope := n.body
	if envelope == nil {
		envelope = n.appendEnvelope(make([]byte, 0, n.size()+envelopeRoom))
	}
	return push.Notice{Seq: n.seq, Type: n.Type, Envelope: envelope, Accepted: n.timestamp()}
}

// get returns a recent notice; nil: it is not one.
func (t *tail) get(seq uint64) *notice {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.recent[seq%recentNotices]; n != nil && n.seq == seq && seq < t.next {
		return n
	}
	return nil
}
