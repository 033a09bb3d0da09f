package dispatch

import (
	"context"
	"errors"
	"math"

	"dyno/parts/wal"
	"dyno/services/notify/notice"
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
	s := scan{Reader: r, ctx: ctx, kinds: map[string][]*laggard{}, end: r.options.Store.head.Load()}
	from := s.begin()
	if len(s.laggards) == 0 {
		return false
	}
	err := r.options.Store.Notices.Scan(from, s.visit)
	for s.gap && err == nil && s.seen < scanRecords {
		if from = s.nextWanted(); from <= s.last || from == math.MaxUint64 {
			break
		}
		s.gap = false
		err = r.options.Store.Notices.Scan(from, s.visit)
	}
	s.advance()
	var damage *wal.DamageError
	var trimmed *wal.TrimmedError
	switch {
	case errors.As(err, &damage):
		r.options.Log.Error("notices could not be read from the log; they are not delivered", "error", err)
		s.skip(damage.Next)
	case errors.As(err, &trimmed):
		r.options.Log.Error("notices are no longer in the log; they are not delivered", "error", err)
		s.skip(trimmed.First)
	case err != nil:
		r.options.Log.Error("reading the log", "error", err)
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
	sub  *subscriber
	want uint64 // the first number that it has not seen
	full bool
}

// begin collects the subscriptions that have room, and returns where to begin.
func (s *scan) begin() (from uint64) {
	for _, sub := range s.options.Deliverer.lagging.all() {
		next, ok := sub.beginReading()
		if !ok {
			continue
		}
		if len(s.laggards) == 0 || next < from {
			from = next
		}
		s.laggards = append(s.laggards, &laggard{sub: sub, want: next})
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
		if !l.full && l.sub.pass(s.last) {
			s.progress = true
		}
	}
}

// wanting lists the laggards that may want a type.
func (s *scan) wanting(kind string) (out []*laggard) {
	for _, l := range s.laggards {
		// A change of what it wants since the scan began holds for later notices than those that are
		// read.
		if l.sub.mayWant(s.end, kind) {
			out = append(out, l)
		}
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
	next, more := l.sub.read(n, s.options.KeepAge)
	l.full = !more
	if next > 0 {
		l.want, s.progress = next, true
	}
}

// skip lets all subscriptions go on behind records that cannot be read. Which of them a
// subscription should get is not known; so what its backlog still counts when everything else was
// read is lost.
func (s *scan) skip(next uint64) {
	s.options.Table.withoutRouting(func() {
		for _, l := range s.laggards {
			if l.full || l.want >= next {
				continue
			}
			if err := l.sub.lose(next); err != nil {
				s.logUncounted(err)
			}
			s.progress = true
		}
	})
}

// logUncounted logs why what is lost was not counted.
func (r *Reader) logUncounted(err error) {
	r.options.Log.Error("counting what is left in the log; the next scan tries again", "error", err)
}
