package backfill

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// gapWorld fetches what a planner hands out, and links it; every step may go wrong.
type gapWorld struct {
	*rapid.T
	p         *planner
	c         ShardConfig
	fetches   int
	now       time.Time
	linked    uint32          // lowest that is linked; Gap.To+1: none
	there     map[uint32]bool // arrived, and not linked
	work      []*worker       // shards in flight
	proving   []answer        // answers being verified
	delivered map[uint32]int  // how often a ledger was linked
	handed    map[uint64]bool // ids
}

type worker struct {
	s  shard
	at uint32 // next ledger to ask for
}

type answer struct {
	s     shard
	index uint32
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := ShardConfig{
			Size:    rapid.IntRange(1, 9).Draw(t, "size"),
			Window:  rapid.IntRange(1, 40).Draw(t, "window"),
			Gap:     gap(1, uint32(rapid.IntRange(1, 300).Draw(t, "gap"))),
			Timeout: 400 * time.Millisecond,
		}
		w := &gapWorld{T: t, c: c, fetches: rapid.IntRange(1, 4).Draw(t, "fetches"), p: made(c), now: begin, linked: c.Gap.To + 1,
			there: map[uint32]bool{}, delivered: map[uint32]int{}, handed: map[uint64]bool{}}
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			w.step(rapid.IntRange(0, 11).Draw(t, "what"), rapid.IntRange(0, 99).Draw(t, "which"))
			w.check()
		}
		w.finish()
	})
}

func (w *gapWorld) step(what, which int) {
	w.now = w.now.Add(time.Duration(which) * time.Millisecond)
	switch {
	case what < 3:
		w.take()
	case what < 7:
		w.fetch(which)
	case what == 7 && len(w.work) > 0: // a shard fails
		i := which % len(w.work)
		k := w.work[i]
		w.p.Failed(k.s, k.at, which%3)
		w.work = append(w.work[:i], w.work[i+1:]...)
	case what < 10:
		w.prove(which, what == 9)
	case what == 10:
		w.link(which%5 == 0)
	case what == 11: // every event comes twice
		for index := range w.there {
			if w.p.Arrived(index, w.now) {
				w.Fatalf("ledger %d arrived twice", index)
			}
		}
	}
}

// take asks the planner for a shard, if there is a fetcher for it.
func (w *gapWorld) take() {
	if len(w.work) == 2*w.fetches {
		return
	}
	highest := uint32(0)
	for index, l := range w.p.ledgers {
		if l.loose {
			highest = max(highest, index)
		}
	}
	s, ok := w.p.Next(w.now)
	if !ok {
		if highest > 0 {
			w.Fatalf("ledger %d needs fetching, and is not handed out", highest)
		}
		return
	}
	if s.To < highest {
		w.Fatalf("%v is handed out before ledger %d, which is nearer to the top", s.Range, highest)
	}
	if w.handed[s.ID] {
		w.Fatalf("shard %d is handed out twice", s.ID)
	}
	w.handed[s.ID] = true
	wants := 0
	for i := s.To; i >= s.From && i > 0; i-- {
		if w.p.Wants(s, i) {
			wants++
			if w.there[i] || i >= w.linked {
				w.Fatalf("ledger %d has arrived, and is wanted again", i)
			}
		}
	}
	if wants == 0 || !w.c.Gap.Has(s.From) || !w.c.Gap.Has(s.To) || int64(s.From) < int64(w.linked)-int64(w.c.Window) {
		w.Fatalf("%+v, of which %d are wanted; linked down to %d", s, wants, w.linked)
	}
	w.work = append(w.work, &worker{s, s.To})
}

// fetch lets a worker get one ledger.
func (w *gapWorld) fetch(which int) {
	if len(w.work) == 0 {
		return
	}
	i := which % len(w.work)
	k := w.work[i]
	for k.at >= k.s.From && k.at > 0 && !w.p.Wants(k.s, k.at) {
		k.at--
	}
	if k.at < k.s.From || k.at == 0 {
		w.work = append(w.work[:i], w.work[i+1:]...)
		return
	}
	w.p.Asking(k.s, w.now)
	w.proving = append(w.proving, answer{k.s, k.at})
	k.at--
}

// prove lets an answer arrive, or be rejected, also a late one.
func (w *gapWorld) prove(which int, wrong bool) {
	if len(w.proving) == 0 {
		return
	}
	i := which % len(w.proving)
	a := w.proving[i]
	w.proving = append(w.proving[:i], w.proving[i+1:]...)
	if wrong {
		w.p.Rejected(a.index, which%3, w.now)
		delete(w.there, a.index)
		return
	}
	first := w.p.Arrived(a.index, w.now)
	if want := !w.there[a.index] && a.index < w.linked; first != want {
		w.Fatalf("ledger %d arrived: %v, want %v", a.index, first, want)
	}
	if first {
		w.there[a.index] = true
	}
}

// link links the next ledger if it has arrived, or rejects it.
func (w *gapWorld) link(wrong bool) {
	for w.there[w.linked-1] {
		index := w.linked - 1
		delete(w.there, index)
		if wrong {
			w.p.Rejected(index, "a liar", w.now)
			return
		}
		w.delivered[index]++
		w.linked = index
		w.p.Advance(index)
	}
}

// check compares the planner's state with the model.
func (w *gapWorld) check() {
	if len(w.p.ledgers) > w.c.Window {
		w.Fatalf("%d ledgers are kept, more than the window of %d", len(w.p.ledgers), w.c.Window)
	}
	left := map[*flight]int{}
	for index, l := range w.p.ledgers {
		flies := l.holder != nil
		if flies {
			left[l.holder]++
		}
		if l.arrived != w.there[index] || l.arrived && (flies || l.loose) || l.loose == flies && !l.arrived {
			w.Fatalf("ledger %d: %+v", index, l)
		}
		if l.loose && !w.pending(index) {
			w.Fatalf("ledger %d is lost", index)
		}
	}
	for id, f := range w.p.flights {
		if left[f] != f.left || f.left == 0 || f.ID != id {
			w.Fatalf("shard %+v has %d ledgers", f, left[f])
		}
		delete(left, f)
	}
	if len(left) > 0 {
		w.Fatalf("%d shards have ledgers and are forgotten", len(left))
	}
	for i := 1; i < len(w.p.pending); i++ {
		if w.p.pending[i].To < w.p.pending[i-1].To {
			w.Fatalf("pending is out of order: %v", w.p.pending)
		}
	}
}

func (w *gapWorld) pending(index uint32) bool {
	for _, s := range w.p.pending {
		if s.Has(index) {
			return true
		}
	}
	return false
}

// finish lets every step succeed: whatever happened before, the plan ends, with each ledger linked
// once.
func (w *gapWorld) finish() {
	for round := 0; !w.p.Done(); round++ {
		if round > 10*w.c.Gap.Len()+100 {
			w.Fatalf("no end: linked down to %d, %s", w.linked, w.state())
		}
		for range 2 * w.fetches {
			w.take()
		}
		for len(w.work) > 0 {
			w.fetch(0)
		}
		for len(w.proving) > 0 {
			w.prove(0, false)
		}
		w.link(false)
		w.check()
	}
	for i := w.c.Gap.From; i <= w.c.Gap.To; i++ {
		if w.delivered[i] != 1 {
			w.Fatalf("ledger %d was linked %d times", i, w.delivered[i])
		}
	}
	if len(w.p.ledgers)+len(w.p.flights) > 0 {
		w.Fatalf("left at the end: %s", w.state())
	}
	if s, ok := w.p.Next(w.now.Add(time.Hour)); ok {
		w.Fatalf("after the end: %+v", s)
	}
}

func (w *gapWorld) state() string {
	return fmt.Sprintf("%d ledgers, %d shards under way, pending %v, next %d", len(w.p.ledgers), len(w.p.flights), w.p.pending, w.p.next)
}
