package journal

import (
	"cmp"
	"maps"
	"slices"

	"dyno/services/notify/subscription"
)

// fold adds up the events of a log. It may begin anywhere: what it sees of a subscription before
// its first put or position is replaced by that, except letters, which need neither.
type fold struct {
	states   map[uint64]*state // by handle
	departed subscription.Counts
	complete uint64 // the last checkpoint that is complete leaves out what came before this number
	handles  uint64 // the highest seen
	size     int64  // bytes of events that are not a checkpoint's
}

// state is one subscription in a fold.
type state struct {
	subscription.Recovered
	defined         bool
	baseSeq         uint64                             // the number of its put or position
	waiting         map[uint64]subscription.Waiting    // of Position.Waiting
	letters         map[uint64]subscription.DeadLetter // Where is 0 while an event with the record is still to come
	previousLetters map[uint64]subscription.DeadLetter // the letters before the position, which lists the numbers of those that remain
}

func newFold() *fold {
	return &fold{states: make(map[uint64]*state)}
}

func (f *fold) state(handle uint64) *state {
	s := f.states[handle]
	if s == nil {
		s = new(state)
		s.resetTo(subscription.Position{}, 0)
		s.defined = false
		f.states[handle] = s
		f.handles = max(f.handles, handle)
	}
	return s
}

// visit is for Scan.
func (f *fold) visit(number uint64, record []byte) error {
	e, err := decode(record)
	if err != nil {
		return err
	}
	f.apply(number, &e)
	if !e.kind.checkpoint() {
		f.size += int64(len(record))
	}
	return nil
}

func (f *fold) apply(number uint64, e *event) {
	switch e.kind {
	case kindDeparted:
		f.departed = e.counts
		return
	case kindComplete:
		f.complete = e.from
		return
	case kindDelete:
		f.departed = f.departed.Plus(e.counts)
		f.handles = max(f.handles, e.handle)
		delete(f.states, e.handle)
		return
	}
	s := f.state(e.handle)
	switch e.kind {
	case kindPut:
		s.put(number, e.position.Definition, e.from)
	case kindDelivered:
		for _, seq := range e.seqs {
			s.delivered(seq)
		}
	case kindFailed:
		for _, w := range e.waiting {
			s.failed(w)
		}
	case kindDeadLetter:
		s.addDeadLetter(number, e.letter)
	case kindPurge:
		for _, seq := range e.seqs {
			s.purge(seq)
		}
	case kindReplay:
		for _, seq := range e.seqs {
			s.replay(seq)
		}
	case kindPosition:
		s.resetTo(e.position, number)
	case kindWaiting:
		for _, w := range e.waiting {
			if w.Seq < s.Loaded {
				s.waiting[w.Seq] = w
			} else {
				s.Failed[w.Seq] = w
			}
		}
	case kindAhead:
		for _, seq := range e.seqs {
			s.Acked[seq] = true
		}
	case kindDead:
		for _, seq := range e.seqs {
			s.restoreDeadLetter(seq, false, subscription.Waiting{})
		}
	case kindReplaying:
		for _, w := range e.waiting {
			s.restoreDeadLetter(w.Seq, true, w)
		}
	case kindKeep:
		e.letter.Where = number
		s.letters[e.letter.Seq] = e.letter
	}
}

// resetTo begins anew at a position. Its waiting notices and letters follow in events of their own.
func (s *state) resetTo(p subscription.Position, number uint64) {
	s.Recovered = subscription.Recovered{Position: p, Acked: make(map[uint64]bool), Failed: make(map[uint64]subscription.Waiting)}
	s.waiting = make(map[uint64]subscription.Waiting)
	s.previousLetters, s.letters = s.letters, make(map[uint64]subscription.DeadLetter)
	s.baseSeq, s.defined = number, true
}

func (s *state) put(number uint64, d subscription.Definition, from uint64) {
	if !s.defined {
		letters := s.letters // of a subscription that was put before the log begins; its position follows
		s.resetTo(subscription.Position{Loaded: from, Routed: from}, number)
		s.letters = letters
	}
	s.Redefine(d, from)
}

// attempted counts retries: tries attempts were known of, and attempts have been made.
func (s *state) attempted(tries, attempts int) {
	s.Counts.Retried += int64(max(0, attempts-max(tries, 1)))
}

func (s *state) delivered(seq uint64) {
	if l, ok := s.letters[seq]; ok && l.Replaying {
		s.attempted(l.Retry.Tries, l.Retry.Tries+1)
		s.Counts.Delivered++
		delete(s.letters, seq)
		return
	}
	if tries, ok := s.ack(seq); ok {
		s.attempted(tries, tries+1)
		s.Counts.Delivered++
	}
}

// ack takes a notice out of what waits, and returns how often it was tried; false means that it was
// taken out before.
func (s *state) ack(seq uint64) (tries int, ok bool) {
	if seq < s.Loaded {
		w, ok := s.waiting[seq]
		delete(s.waiting, seq)
		return w.Tries, ok
	}
	if s.Acked[seq] {
		return 0, false
	}
	w := s.Failed[seq]
	delete(s.Failed, seq)
	s.Acked[seq] = true
	return w.Tries, true
}

func (s *state) failed(w subscription.Waiting) {
	if l, ok := s.letters[w.Seq]; ok && l.Replaying {
		s.attempted(l.Retry.Tries, w.Tries)
		l.Retry = w
		s.letters[w.Seq] = l
		return
	}
	if w.Seq < s.Loaded {
		if before, ok := s.waiting[w.Seq]; ok {
			s.attempted(before.Tries, w.Tries)
			s.waiting[w.Seq] = w
		}
		return
	}
	if !s.Acked[w.Seq] {
		s.attempted(s.Failed[w.Seq].Tries, w.Tries)
		s.Failed[w.Seq] = w
	}
}

func (s *state) addDeadLetter(number uint64, l subscription.DeadLetter) {
	before, again := s.letters[l.Seq]
	l.Where = number
	s.letters[l.Seq] = l
	if again && !before.Replaying {
		return
	}
	tries := before.Retry.Tries
	if !again {
		var ok bool
		if tries, ok = s.ack(l.Seq); !ok {
			return
		}
	}
	s.attempted(tries, l.Attempts)
	s.Counts.Dead++
}

func (s *state) purge(seq uint64) {
	if _, ok := s.letters[seq]; ok {
		s.Counts.Purged++
		delete(s.letters, seq)
	}
}

func (s *state) replay(seq uint64) {
	if l, ok := s.letters[seq]; ok && !l.Replaying {
		l.Replaying, l.Retry = true, subscription.Waiting{Seq: seq}
		s.letters[seq] = l
		s.Counts.Dead--
	}
}

func (s *state) restoreDeadLetter(seq uint64, replaying bool, retry subscription.Waiting) {
	l := s.previousLetters[seq]
	l.Seq, l.Replaying, l.Retry = seq, replaying, retry
	s.letters[seq] = l
}

// result is what the events came to.
func (s *state) result() *subscription.Recovered {
	r := s.Recovered
	r.Waiting = slices.SortedFunc(maps.Values(s.waiting), func(a, b subscription.Waiting) int { return cmp.Compare(a.Seq, b.Seq) })
	return &r
}
