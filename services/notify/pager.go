package notify

import (
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"dyno/parts/wal"
	"dyno/services/notify/journal"
)

// behind is what of a subscription's notices is not in memory: it stays in the log until there is room.
type behind struct {
	backlog int64             // notices, those in todo included; 0: the newest go into memory at once
	todo    []journal.Waiting // before loaded, in order: after a restart
	loaded  uint64            // from here on nothing was loaded, while there is a backlog
	settled map[uint64]bool   // from loaded on: after a restart
	failed  map[uint64]journal.Waiting
	routed  uint64 // one more than the last that was routed to it
}

// next is the first number that it wants to see.
func (b *behind) next() uint64 {
	if len(b.todo) > 0 {
		return b.todo[0].Seq
	}
	return b.loaded
}

// floorItems of each subscription are let into memory however full it is, so that nobody starves.
const floorItems = 4

// room reports whether a subscription may have another notice in memory.
func (d *Dispatcher) room(sub *subscription) bool {
	return sub.n < d.config.Window && (d.loaded.Load() < d.config.Memory || sub.n < floorItems)
}

// roomy reports whether it is worth while to read for a subscription: half of its window is free, or all it has
// not got fits in. So a pass that begins with it hands out many, and those ahead of it have their turn.
func (d *Dispatcher) roomy(sub *subscription) bool {
	w := d.config.Window
	if d.loaded.Load() >= d.config.Memory {
		w = min(w, floorItems)
	}
	return sub.n <= w/2 || int64(sub.n)+sub.behind.backlog <= int64(w)
}

// revoked reports whether the subscription was disabled after a notice came, so that it is not to get it.
func (sub *subscription) revoked(seq uint64) bool {
	return slices.ContainsFunc(sub.filters, func(f journal.Filter) bool { return f.None && f.From > seq })
}

// pager knows which subscriptions have a backlog.
type pager struct {
	wake chan struct{} // holds one token: somebody may have room

	mu   sync.Mutex
	subs map[*subscription]bool
}

func (p *pager) init() {
	p.wake = make(chan struct{}, 1)
	p.subs = map[*subscription]bool{}
}

func (p *pager) lags(sub *subscription) {
	p.mu.Lock()
	p.subs[sub] = true
	p.mu.Unlock()
	p.kick()
}

func (p *pager) keepsUp(sub *subscription) {
	p.mu.Lock()
	delete(p.subs, sub)
	p.mu.Unlock()
}

func (p *pager) all() []*subscription {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.subs))
}

func (p *pager) kick() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// hasRoom is told when a subscription has got something; below half of its window it is worth while to read
// on. The subscription's mutex is held.
func (p *pager) hasRoom(sub *subscription) {
	if sub.behind.backlog > 0 && sub.n <= sub.gate.d.config.Window/2 {
		p.kick()
	}
}

// page reads from the log what there is room for, until the dispatcher ends.
func (d *Dispatcher) page() {
	again := time.NewTicker(100 * time.Millisecond) // memory that others gave free wakes nobody
	defer again.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.pager.wake:
		case <-again.C:
		}
		for d.ctx.Err() == nil && d.pass() {
		}
		d.wakeClose()
	}
}

// Bounds of one pass, after which it is looked anew who has room.
const (
	passRecords = 20_000
	passGap     = 4096 // numbers that nobody wants: it is cheaper to begin again behind them
	passLook    = 256  // records between two looks at that
)

// pass reads the log once, from the first number that somebody wants, for all who have room. It reports
// whether it was of any use.
func (d *Dispatcher) pass() (useful bool) {
	r := reading{d: d, kinds: map[string][]*reader{}, end: d.head.Load()}
	from := r.begin()
	if len(r.readers) == 0 {
		return false
	}
	err := d.notices.Scan(from, r.visit)
	for r.gap && err == nil && r.seen < passRecords {
		if from = r.nextWanted(); from <= r.last || from == math.MaxUint64 {
			break
		}
		r.gap = false
		err = d.notices.Scan(from, r.visit)
	}
	r.advance()
	var damage *wal.DamageError
	var trimmed *wal.TrimmedError
	switch {
	case errors.As(err, &damage):
		d.log.Error("notices could not be read from the log; they are not delivered", "error", err)
		r.skip(damage.Next)
	case errors.As(err, &trimmed):
		d.log.Error("notices are no longer in the log; they are not delivered", "error", err)
		r.skip(trimmed.First)
	case err != nil:
		d.log.Error("reading the log", "error", err)
		return false
	}
	return r.progress
}

// reading is one pass.
type reading struct {
	d        *Dispatcher
	readers  []*reader
	kinds    map[string][]*reader // who wants a type; filled as types come
	end      uint64               // what came later is left for the next
	seen     int
	gap      bool   // the scan ended where nobody wants anything for long
	last     uint64 // the last number that was visited
	progress bool
}

// reader is a subscription in a pass.
type reader struct {
	sub  *subscription
	want uint64 // the first number that it has not seen
	full bool
}

// begin collects who has room, and returns where to begin.
func (r *reading) begin() (from uint64) {
	for _, sub := range r.d.pager.all() {
		sub.mu.Lock()
		b := &sub.behind
		switch {
		case b.backlog == 0 || sub.gone:
			r.d.pager.keepsUp(sub)
		case r.d.roomy(sub) || sub.revoked(b.next()):
			rd := &reader{sub: sub, want: b.next()}
			if len(r.readers) == 0 || rd.want < from {
				from = rd.want
			}
			r.readers = append(r.readers, rd)
		}
		sub.mu.Unlock()
	}
	return from
}

func (r *reading) visit(seq uint64, record []byte) error {
	if seq >= r.end || r.seen >= passRecords || r.d.ctx.Err() != nil {
		return wal.ErrStop
	}
	if r.seen++; r.seen%passLook == 0 && r.nextWanted() > seq+passGap {
		r.gap = true
		return wal.ErrStop
	}
	_, kind, _, err := glance(record)
	if err != nil {
		return &wal.DamageError{From: seq, Next: seq + 1, Where: err.Error()}
	}
	r.last = seq
	readers, known := r.kinds[string(kind)]
	if !known {
		readers = r.wanting(string(kind))
		r.kinds[string(kind)] = readers
	}
	var n *notice
	for _, rd := range readers {
		if rd.full || seq < rd.want {
			continue
		}
		if n == nil {
			if n, err = decodeRecord(seq, record); err != nil {
				return &wal.DamageError{From: seq, Next: seq + 1, Where: err.Error()}
			}
			r.d.encode.prepare(n)
		}
		r.offer(rd, n)
	}
	return nil
}

// advance remembers how far those have seen who wanted nothing of it.
func (r *reading) advance() {
	for _, rd := range r.readers {
		rd.sub.mu.Lock()
		if b := &rd.sub.behind; !rd.full && b.backlog > 0 && len(b.todo) == 0 && b.loaded <= r.last {
			b.loaded, r.progress = r.last+1, true
		}
		rd.sub.mu.Unlock()
	}
}

// wanting lists who may want a type.
func (r *reading) wanting(kind string) (out []*reader) {
	for _, rd := range r.readers {
		rd.sub.mu.Lock()
		// What it wants may have changed since the pass began: that holds for later notices than those read.
		if len(rd.sub.filters) > 1 || rd.sub.wanted(r.end-1, kind) {
			out = append(out, rd)
		}
		rd.sub.mu.Unlock()
	}
	return out
}

// nextWanted is the first number that somebody with room has not seen; nobody: the largest.
func (r *reading) nextWanted() (next uint64) {
	next = math.MaxUint64
	for _, rd := range r.readers {
		if !rd.full {
			next = min(next, rd.want)
		}
	}
	return next
}

// offer shows a notice to a subscription that may want it.
func (r *reading) offer(rd *reader, n *notice) {
	sub, d := rd.sub, r.d
	sub.mu.Lock()
	defer sub.mu.Unlock()
	b := &sub.behind
	if sub.gone || b.backlog == 0 {
		rd.full = true
		return
	}
	var w journal.Waiting
	switch {
	case len(b.todo) > 0 && n.seq < b.todo[0].Seq:
		return
	case len(b.todo) > 0 && n.seq == b.todo[0].Seq:
		w = b.todo[0]
	case !sub.wanted(n.seq, n.Type):
		return
	case b.settled[n.seq]:
		delete(b.settled, n.seq)
		b.loaded = n.seq + 1
		rd.want, r.progress = b.next(), true
		return
	default:
		w = b.failed[n.seq]
	}
	reason := ""
	switch {
	case sub.revoked(n.seq):
		reason = reasonDisabled
	case d.overdue(n.accepted):
		reason = reasonKept
	case !d.room(sub):
		rd.full = true
		return
	}
	if reason != "" && !d.bury(sub, n, journal.Letter{Attempts: w.Tries, Reason: reason}) {
		rd.full = true
		return
	}
	if len(b.todo) > 0 {
		b.todo = b.todo[1:]
	} else {
		delete(b.failed, n.seq)
		b.loaded = n.seq + 1
	}
	b.backlog--
	r.progress = true
	if reason != "" {
		d.settled(1)
	} else {
		d.resume(sub, &item{notice: n}, w)
	}
	rd.want = b.next()
	if b.backlog == 0 {
		rd.full = true
		d.caughtUp(sub)
	}
}

// resume loads an item of which attempts may have failed before.
func (d *Dispatcher) resume(sub *subscription, it *item, w journal.Waiting) {
	it.tries = w.Tries
	l, fresh := d.lane(sub, it.notice.Key)
	l.append(it)
	d.loaded.Add(it.notice.cost())
	switch wait := min(time.Until(w.Next), max(d.config.MaxBackoff, maxRetryAfter)); { // the clock may have been wrong
	case !fresh:
	case wait > 0:
		d.park(l, wait)
	default:
		sub.gate.ready(l)
	}
}

// skip lets everybody go on behind records that cannot be read. Which of them a subscription was to get is
// not known; so what its backlog still counts when everything else was read is lost.
func (r *reading) skip(next uint64) {
	d := r.d
	d.mu.Lock() // nothing is routed meanwhile
	defer d.mu.Unlock()
	for _, rd := range r.readers {
		sub := rd.sub
		sub.mu.Lock()
		if b := &sub.behind; !rd.full && rd.want < next && b.backlog > 0 && !sub.gone {
			d.lose(sub, next)
			r.progress = true
		}
		sub.mu.Unlock()
	}
}

// lose counts as dead what a subscription cannot get any more because records before a number are gone.
func (d *Dispatcher) lose(sub *subscription, next uint64) {
	b := &sub.behind
	left, err := d.remaining(sub, max(b.loaded, next))
	if err != nil {
		d.log.Error("counting what is left in the log; the next pass tries again", "error", err)
		return
	}
	was := b.backlog
	b.todo = slices.DeleteFunc(b.todo, func(w journal.Waiting) bool { return w.Seq < next })
	b.loaded = max(b.loaded, next)
	maps.DeleteFunc(b.settled, func(seq uint64, _ bool) bool { return seq < b.loaded })
	b.backlog = int64(len(b.todo)) + left
	lost := was - b.backlog
	sub.counts.Dead += lost
	sub.counts.Lost += lost
	d.settled(lost)
	d.lost.Add(lost)
	d.hurry.Store(true)
	if b.backlog == 0 {
		d.caughtUp(sub)
	}
}

// caughtUp says that all a subscription has not got is in memory.
func (d *Dispatcher) caughtUp(sub *subscription) {
	b := &sub.behind
	b.todo, b.settled, b.failed = nil, nil, nil
	d.pager.keepsUp(sub)
}

// remaining counts what a subscription is to get of the log from a number on.
func (d *Dispatcher) remaining(sub *subscription, from uint64) (n int64, err error) {
	for {
		err := d.notices.Scan(from, func(seq uint64, record []byte) error {
			if seq >= d.head.Load() {
				return wal.ErrStop
			}
			_, kind, _, err := glance(record)
			if err != nil {
				return &wal.DamageError{From: seq, Next: seq + 1, Where: err.Error()}
			}
			if !sub.behind.settled[seq] && sub.wanted(seq, string(kind)) {
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
