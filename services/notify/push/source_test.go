package push

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged is a made-up source.
type logged struct {
	mu      sync.Mutex
	first   uint64
	notices []Notice // from number 1 on; those before first are gone
	lost    map[uint64]bool
	broken  error
	closed  bool
	more    chan struct{}
	scans   int
}

func newLog() *logged {
	return &logged{first: 1, lost: map[uint64]bool{}, more: make(chan struct{})}
}

// put adds notices of a type, with an envelope each that names their number.
func (l *logged) put(kind string, n int) {
	for range n {
		l.add(kind, "")
	}
}

// add adds a notice with a payload; "": its number.
func (l *logged) add(kind, payload string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seq := uint64(len(l.notices)) + 1
	if payload == "" {
		payload = fmt.Sprint(seq)
	}
	l.notices = append(l.notices, Notice{Seq: seq, Type: kind, Envelope: []byte(envelope(kind, payload))})
	l.wake()
}

func envelope(kind, payload string) string {
	return fmt.Sprintf(`{"type":%q,"data":{"payload":%s}}`, kind, payload)
}

func (l *logged) wake() {
	close(l.more)
	l.more = make(chan struct{})
}

func (l *logged) trim(before uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = before
}

func (l *logged) lose(seqs ...uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range seqs {
		l.lost[seq] = true
	}
}

func (l *logged) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

func (l *logged) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.wake()
}

func (l *logged) Bounds() (first, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first, uint64(len(l.notices)) + 1
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (l *logged) Wait(next uint64) (<-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if next <= uint64(len(l.notices)) {
		return closedChannel, !l.closed
	}
	return l.more, !l.closed
}

func (l *logged) Scan(from uint64, visit func(Notice) error) (uint64, error) {
	l.mu.Lock()
	first, notices, broken, closed := max(l.first, from), l.notices, l.broken, l.closed
	l.scans++
	lost := make(map[uint64]bool, len(l.lost))
	for seq := range l.lost {
		lost[seq] = true
	}
	l.mu.Unlock()
	switch {
	case closed:
		return first, errors.New("closed")
	case broken != nil:
		return first, broken
	}
	for seq := first; seq <= uint64(len(notices)); seq++ {
		if lost[seq] {
			continue
		}
		if err := visit(notices[seq-1]); err != nil {
			return first, err
		}
	}
	return first, nil
}
