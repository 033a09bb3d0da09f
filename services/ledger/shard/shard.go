// Package shard decides what of a gap in history is fetched next, and in what portions: it cuts the gap into shards
// from its top down, halves what failed, lets sizes follow how long recent shards took, and hands the slow tail out twice.
//
// It is pure: it does no I/O, starts no goroutines, and is told what time it is. It is for one goroutine at a time; its
// owner guards it with a mutex. It is not for choosing servers (services/ledger/pace does), only for saying which not.
//
// A ledger is, in this order: not cut yet; loose, which is to be fetched and in no shard; in the hands of a shard or two (the
// second is a hedge); there (Arrived); linked (Advance). Failed and Rejected make it loose again. What is cut and not
// linked lies within Config.Window, which bounds the memory of whoever works with the plan.
package shard

import (
	"fmt"
	"time"

	"dyno/services/ledger/history"
)

// Names of how shards are sized and whether they are hedged.
const (
	Fixed    = "fixed"    // every shard has Size ledgers
	Adaptive = "adaptive" // so many that their P95 is Target
	None     = "none"     // no hedges
	P95      = "p95"      // what takes longer than 95% of shards of its size did is asked for once more
)

// Config is how a gap is cut. Its zero values are the documented defaults.
type Config struct {
	Sizing  string        // Fixed, Adaptive; "": Fixed
	Size    int           // ledgers of the first shard, or of each; 0: 16
	Target  time.Duration // that the P95 of shards is led to (Adaptive); 0: a quarter of Timeout
	Hedge   string        // None, P95; "": None
	Fetches int           // shards at work at once: the window keeps room for two each (Adaptive); 0: 8

	Gap     history.Range
	Window  int           // ledgers under way below the last one that was linked; 0: 1,024
	Timeout time.Duration // of a shard; 0: 8 s
}

// Within is c for a gap.
func (c Config) Within(gap history.Range, window int, timeout time.Duration) Config {
	c.Gap, c.Window, c.Timeout = gap, window, timeout
	return c
}

// Check says what of c there is not.
func (c Config) Check() error {
	switch c.Sizing {
	case "", Fixed, Adaptive:
	default:
		return fmt.Errorf("unknown shard sizing %q; there are %s, %s", c.Sizing, Fixed, Adaptive)
	}
	switch c.Hedge {
	case "", None, P95:
	default:
		return fmt.Errorf("unknown hedging %q; there are %s, %s", c.Hedge, None, P95)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.Size <= 0 {
		c.Size = 16
	}
	if c.Fetches <= 0 {
		c.Fetches = 8
	}
	if c.Window <= 0 {
		c.Window = 1024
	}
	if c.Timeout <= 0 {
		c.Timeout = 8 * time.Second
	}
	if c.Target <= 0 {
		c.Target = c.Timeout / 4
	}
	return c
}

// Shard is ledgers to fetch, from To down to From, as far as Wants says so: others may have some of them.
type Shard struct {
	history.Range
	ID      uint64
	Hedge   bool
	Not     any           // whom to ask only when there is nobody else: who failed these ledgers before, or is at them still; nil: nobody
	Timeout time.Duration // after which it is to be given up, with Failed
}

// Planner is made by New.
type Planner struct {
	c         Config
	next      uint32             // the next to be cut; below the gap: all is
	linked    uint64             // the lowest that is linked; Gap.To+1: none
	ledgers   map[uint32]*ledger // cut and not linked: at most Window
	flights   map[uint64]*flight // shards that were handed out and are owed ledgers
	pending   []Shard            // ranges with loose ledgers, highest last
	ids       uint64
	sizer     sizer
	nextHedge time.Time // no flight is to be hedged before; the zero time: look
	stats     Stats
}

// ledger is one that is cut and not linked.
type ledger struct {
	arrived bool       // it arrived
	loose   bool       // it is in no shard's hands, and its index in a pending range
	holder  [2]*flight // who are to bring it
}

// flight is a shard that was handed out.
type flight struct {
	Shard
	ledgers int       // it was handed out with
	left    int       // in its hands still
	begun   time.Time // when it was handed out, or first asked somebody
	asking  any       // whom it asks; nil: nobody yet
	at      uint32    // what it asks for: what is above has been answered, and is being proved
	hedged  bool
	failed  bool // it brings nothing below at any more
}

// New makes the planner of a gap.
func New(c Config) *Planner {
	c = c.withDefaults()
	p := &Planner{c: c, next: c.Gap.To, linked: uint64(c.Gap.To) + 1, ledgers: map[uint32]*ledger{}, flights: map[uint64]*flight{}}
	p.sizer.size = min(c.Size, p.largest())
	if c.Gap.Len() == 0 {
		p.next, p.linked = 0, 0
	}
	return p
}

// largest is how many ledgers a shard may have. One that adapts stays so small that the window keeps everybody busy.
func (p *Planner) largest() int {
	if p.c.Sizing != Adaptive {
		return p.c.Window
	}
	return max(1, p.c.Window/(2*p.c.Fetches))
}

// Next is the shard to fetch now, that nearest to the top first. False: nothing until something happens (Arrived,
// Failed, Rejected, Advance) or Wait has passed.
func (p *Planner) Next(now time.Time) (Shard, bool) {
	slow := p.slow(now)
	if s, ok := p.retry(slow); ok {
		p.stats.Retries++
		return p.hand(s, now, isLoose), true
	}
	if slow != nil {
		return p.hedge(slow, now), true
	}
	r, ok := p.cut()
	if !ok {
		return Shard{}, false
	}
	for i := uint64(r.From); i <= uint64(r.To); i++ {
		p.ledgers[uint32(i)] = &ledger{loose: true}
	}
	return p.hand(Shard{Range: r}, now, isLoose), true
}

// cut takes the next range off the gap, if the window has room for it. It does not cut smaller for want of room:
// the window moves on ledger by ledger, and all shards would soon be of one.
func (p *Planner) cut() (history.Range, bool) {
	if p.next < p.c.Gap.From || p.next == 0 {
		return history.Range{}, false
	}
	low := p.c.Gap.From
	if bottom := int64(p.linked) - int64(p.c.Window); bottom > int64(low) {
		low = uint32(bottom)
	}
	size := p.sizer.size
	from := max(int64(p.next)-int64(size)+1, int64(p.c.Gap.From))
	if from < int64(low) {
		return history.Range{}, false
	}
	r := history.Range{From: uint32(from), To: p.next}
	p.next = r.From - 1
	return r, true
}

// retry takes the highest pending range that still has loose ledgers, unless a slow flight's are higher.
func (p *Planner) retry(slow *flight) (Shard, bool) {
	for n := len(p.pending); n > 0; n = len(p.pending) {
		s := p.pending[n-1]
		span := p.span(s.Range, isLoose)
		if span.Len() > 0 && slow != nil && p.unanswered(slow).To > span.To {
			return Shard{}, false
		}
		p.pending = p.pending[:n-1]
		if s.Range = span; span.Len() > 0 {
			return s, true
		}
	}
	return Shard{}, false
}

// span is from the lowest to the highest ledger of a range that is of a kind.
func (p *Planner) span(r history.Range, of func(*ledger) bool) (span history.Range) {
	for i := uint64(r.From); i <= uint64(r.To); i++ {
		if l := p.ledgers[uint32(i)]; l != nil && of(l) {
			if span.From == 0 {
				span.From = uint32(i)
			}
			span.To = uint32(i)
		}
	}
	return span
}

func isLoose(l *ledger) bool { return l.loose }

// hand makes a flight of a range's ledgers of a kind.
func (p *Planner) hand(s Shard, now time.Time, of func(*ledger) bool) Shard {
	p.ids++
	s.ID, s.Timeout = p.ids, p.c.Timeout
	f := &flight{Shard: s, begun: now, at: s.To}
	for i := uint64(s.From); i <= uint64(s.To); i++ {
		if l := p.ledgers[uint32(i)]; l != nil && of(l) {
			l.hold(f)
			f.left++
		}
	}
	f.ledgers = f.left
	p.flights[s.ID] = f
	p.stats.Shards++
	return s
}

// hold puts a ledger into a flight's hands.
func (l *ledger) hold(f *flight) {
	l.loose = false
	if l.holder[0] == nil {
		l.holder[0] = f
	} else {
		l.holder[1] = f
	}
}

// has says whether a ledger is in a flight's hands.
func (f *flight) has(l *ledger) bool { return l.holder[0] == f || l.holder[1] == f }

// release takes a ledger out of a flight's hands.
func (p *Planner) release(l *ledger, f *flight) {
	for i, h := range l.holder {
		if h == f {
			l.holder[i] = nil
		}
	}
	if f.left--; f.left == 0 {
		delete(p.flights, f.ID)
	}
}
