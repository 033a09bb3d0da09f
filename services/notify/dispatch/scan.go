package dispatch

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"dyno/parts/wal"
	"dyno/services/notify/notice"
	"dyno/services/notify/subscription"
)

// Bounds of one scan, after which the next one looks anew which subscriptions have room.
const (
	scanRecords = 20_000
	scanGap     = 4096 // unwanted numbers beyond which it is cheaper to begin again behind them
	scanCheck   = 256  // records between two checks for such a gap
)

// scanOnce reads the log once, from the first number that is wanted, for all subscriptions with
// room. It reports whether any of them made progress.
func (r *Reader) scanOnce(ctx context.Context) (useful bool) {
	s := scan{Reader: r, ctx: ctx, kinds: map[string][]*laggard{}, end: r.Store.Head.Load()}
	from := s.begin()
	if len(s.laggards) == 0 {
		return false
	}
	err := r.Store.Notices.Scan(from, s.visit)
	for s.gap && err == nil && s.seen < scanRecords {
		if from = s.nextWanted(); from <= s.last || from == math.MaxUint64 {
			break
		}
		s.gap = false
		err = r.Store.Notices.Scan(from, s.visit)
	}
	s.advance()
	var damage *wal.DamageError
	var trimmed *wal.TrimmedError
	switch {
	case errors.As(err, &damage):
		r.Log.Error("notices could not be read from the log; they are not delivered", "error", err)
		s.skip(damage.Next)
	case errors.As(err, &trimmed):
		r.Log.Error("notices are no longer in the log; they are not delivered", "error", err)
		s.skip(trimmed.First)
	case err != nil:
		r.Log.Error("reading the log", "error", err)
		return false
	}
	return s.progress
}

// scan is one reading of the log.
type scan struct {
	*Reader
	ctx      context.Context
	laggards []*laggard
	kinds    map[string][]*laggard // that may want a type; filled as types come
	end      uint64                // later notices are left for the next scan
	seen     int
	gap      bool   // the reading ended before a long part that no laggard wants
	last     uint64 // the last number that was visited
	progress bool
}

// laggard is a subscription with a backlog and room.
type laggard struct {
	sub  *Subscription
	want uint64 // the first number that it has not seen
	full bool
}

// begin collects the subscriptions that have room, and returns where to begin.
func (s *scan) begin() (from uint64) {
	for _, sub := range s.Lagging() {
		sub.Mu.Lock()
		next := sub.Cursor.Next()
		switch {
		case sub.Backlog == 0 || sub.Gone:
			s.removeLagging(sub)
		case s.Deliverer.WorthReading(&sub.Receiver) || sub.Revoked(next):
			if len(s.laggards) == 0 || next < from {
				from = next
			}
			s.laggards = append(s.laggards, &laggard{sub: sub, want: next})
		}
		sub.Mu.Unlock()
	}
	return from
}

func (s *scan) visit(seq uint64, record []byte) error {
	if seq >= s.end || s.seen >= scanRecords || s.ctx.Err() != nil {
		return wal.ErrStop
	}
	if s.seen++; s.seen%scanCheck == 0 && s.nextWanted() > seq+scanGap {
		s.gap = true
		return wal.ErrStop
	}
	_, kind, _, err := notice.DecodeHeader(record)
	if err != nil {
		return unreadable(seq, err)
	}
	s.last = seq
	laggards, known := s.kinds[string(kind)]
	if !known {
		laggards = s.wanting(string(kind))
		s.kinds[string(kind)] = laggards
	}
	var n *notice.Notice
	for _, l := range laggards {
		if l.full || seq < l.want {
			continue
		}
		if n == nil {
			if n, err = notice.Decode(seq, record); err != nil {
				return unreadable(seq, err)
			}
		}
		s.offer(l, n)
	}
	return nil
}

// unreadable is damage of one record.
func unreadable(seq uint64, err error) error {
	return &wal.DamageError{From: seq, Next: seq + 1, Where: err.Error()}
}

// advance records how far the subscriptions have read that wanted none of the last notices.
func (s *scan) advance() {
	for _, l := range s.laggards {
		l.sub.Mu.Lock()
		if c := &l.sub.Cursor; !l.full && l.sub.Backlog > 0 && len(c.Todo) == 0 && c.Loaded <= s.last {
			c.Loaded, s.progress = s.last+1, true
		}
		l.sub.Mu.Unlock()
	}
}

// wanting lists the laggards that may want a type.
func (s *scan) wanting(kind string) (out []*laggard) {
	for _, l := range s.laggards {
		l.sub.Mu.Lock()
		// A change of what it wants since the scan began holds for later notices than those that are
		// read.
		if len(l.sub.Filters) > 1 || l.sub.Wanted(s.end-1, kind) {
			out = append(out, l)
		}
		l.sub.Mu.Unlock()
	}
	return out
}

// nextWanted is the first number that a laggard with room has not seen; the largest number if there
// is none.
func (s *scan) nextWanted() (next uint64) {
	next = math.MaxUint64
	for _, l := range s.laggards {
		if !l.full {
			next = min(next, l.want)
		}
	}
	return next
}

// offer shows a notice to a subscription that may want it.
func (s *scan) offer(l *laggard, n *notice.Notice) {
	sub := l.sub
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	c := &sub.Cursor
	if sub.Gone || sub.Backlog == 0 {
		l.full = true
		return
	}
	var w subscription.Waiting
	switch {
	case len(c.Todo) > 0 && n.Seq < c.Todo[0].Seq:
		return
	case len(c.Todo) > 0 && n.Seq == c.Todo[0].Seq:
		w = c.Todo[0]
	case !sub.Wanted(n.Seq, n.Type):
		return
	case c.AckedAhead[n.Seq]:
		delete(c.AckedAhead, n.Seq)
		c.Loaded = n.Seq + 1
		l.want, s.progress = c.Next(), true
		return
	default:
		w = c.Failed[n.Seq]
	}
	reason := ""
	switch {
	case sub.Revoked(n.Seq):
		reason = ReasonDisabled
	case overdue(n.Accepted, s.KeepAge):
		reason = ReasonExpired
	case !s.Deliverer.HasCapacity(&sub.Receiver):
		l.full = true
		return
	}
	if reason != "" && !s.Deliverer.DeadLetter(&sub.Receiver, n, subscription.DeadLetter{Attempts: w.Tries, Reason: reason}) {
		l.full = true
		return
	}
	if len(c.Todo) > 0 {
		c.Todo = c.Todo[1:]
	} else {
		delete(c.Failed, n.Seq)
		c.Loaded = n.Seq + 1
	}
	sub.Backlog--
	s.progress = true
	if reason != "" {
		s.Deliverer.DecPending(1)
	} else {
		s.Deliverer.Resume(&sub.Receiver, n, w, false)
	}
	l.want = c.Next()
	if sub.Backlog == 0 {
		l.full = true
		s.onCaughtUp(sub)
	}
}

// skip lets all subscriptions go on behind records that cannot be read. Which of them a
// subscription should get is not known; so what its backlog still counts when everything else was
// read is lost.
func (s *scan) skip(next uint64) {
	s.Table.Mu.Lock() // no notice is routed meanwhile
	defer s.Table.Mu.Unlock()
	for _, l := range s.laggards {
		l.sub.Mu.Lock()
		if !l.full && l.want < next && l.sub.Backlog > 0 && !l.sub.Gone {
			s.lose(l.sub, next)
			s.progress = true
		}
		l.sub.Mu.Unlock()
	}
}

// lose counts as dead what a subscription cannot get any more because the records before a number
// are gone.
func (r *Reader) lose(sub *Subscription, next uint64) {
	c := &sub.Cursor
	left, err := r.remaining(sub, max(c.Loaded, next))
	if err != nil {
		r.Log.Error("counting what is left in the log; the next scan tries again", "error", err)
		return
	}
	was := sub.Backlog
	c.Todo = slices.DeleteFunc(c.Todo, func(w subscription.Waiting) bool { return w.Seq < next })
	c.Loaded = max(c.Loaded, next)
	maps.DeleteFunc(c.AckedAhead, func(seq uint64, _ bool) bool { return seq < c.Loaded })
	sub.Backlog = int64(len(c.Todo)) + left
	lost := was - sub.Backlog
	sub.Counts.Dead += lost
	sub.Counts.Lost += lost
	r.Deliverer.DecPending(lost)
	r.lost.Add(lost)
	r.Store.CheckpointDue.Store(true)
	if sub.Backlog == 0 {
		r.onCaughtUp(sub)
	}
}

// remaining counts what a subscription should get of the log from a number on.
func (r *Reader) remaining(sub *Subscription, from uint64) (n int64, err error) {
	for {
		err := r.Store.Notices.Scan(from, func(seq uint64, record []byte) error {
			if seq >= r.Store.Head.Load() {
				return wal.ErrStop
			}
			_, kind, _, err := notice.DecodeHeader(record)
			if err != nil {
				return unreadable(seq, err)
			}
			if !sub.Cursor.AckedAhead[seq] && sub.Wanted(seq, string(kind)) {
				n++
			}
			return nil
		})
		var damage *wal.DamageError
		if !errors.As(err, &damage) || damage.Next <= from {
			return n, err
		}
		from = damage.Next
	}
}
