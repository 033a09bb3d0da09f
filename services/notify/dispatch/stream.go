package dispatch

import (
	"errors"
	"sync"

	"dyno/parts/wal"
	"dyno/services/notify/notice"
	"dyno/services/notify/push"
)

// recentNotices are kept for streams that follow the log closely, so that each notice is encoded
// once for all of them. A power of two; at 256 bytes each, half a megabyte.
const recentNotices = 1024

// recentBytes is what a notice may have to be kept there: all together are some megabytes.
const recentBytes = 4 << 10

// Stream is the log of notices as streams see it: a push.Source.
type Stream struct {
	store *Store

	mu     sync.Mutex
	more   chan struct{} // closed when there are more; nil means that no stream waits
	closed bool
	next   uint64 // the first number that is not among the recent
	recent [recentNotices]*notice.Notice
}

// NewStream returns a stream that begins after the notices that were routed.
func NewStream(s *Store) *Stream { return &Stream{store: s, next: s.head.Load()} }

// grow adds notices that were routed.
func (s *Stream) grow(notices []*notice.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := notices[0].Seq
	for _, n := range notices {
		if n.Size() > recentBytes {
			n = nil
		}
		s.recent[first%recentNotices] = n
		first++
	}
	s.next = first
	s.wake()
}

// Close ends the streams.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.wake()
}

func (s *Stream) wake() {
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}

// Wait is for push.Source.
func (s *Stream) Wait(next uint64) (more <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	if next < s.next {
		return alreadyMore, true
	}
	if s.more == nil {
		s.more = make(chan struct{})
	}
	return s.more, true
}

var alreadyMore = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Bounds is for push.Source.
func (s *Stream) Bounds() (first, next uint64) {
	first, _ = s.store.Notices.Bounds()
	return first, s.store.head.Load()
}

// Scan is for push.Source.
func (s *Stream) Scan(from uint64, visit func(push.Notice) error) (first uint64, err error) {
	first = from
	for {
		n := s.get(from)
		if n == nil {
			break
		}
		if err := visit(streamed(n)); err != nil {
			return first, err
		}
		from++
	}
	if from >= s.store.head.Load() {
		return first, nil
	}
	began := from
	for {
		err := s.store.Notices.Scan(from, func(seq uint64, record []byte) error {
			n, err := notice.Decode(seq, record)
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

func streamed(n *notice.Notice) push.Notice {
	return push.Notice{Seq: n.Seq, Type: n.Type, Envelope: n.Envelope(), Accepted: n.Timestamp()}
}

// get returns a recent notice; nil means that it is not one.
func (s *Stream) get(seq uint64) *notice.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.recent[seq%recentNotices]; n != nil && n.Seq == seq && seq < s.next {
		return n
	}
	return nil
}
