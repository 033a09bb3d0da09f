package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/orders/cache/pgoutput"
	"dyno/services/orders/order"

	"pgregory.net/rapid"
)

// world is a database as far as memory can tell: transactions each make one version of one order, are written to
// the log, told by the feed in that order, and become visible, at moments of their own.
type world struct {
	m       *memory
	next    uint64 // transaction
	log     []*change
	told    int // of log
	visible map[int64]int64
	version map[int64]int64
	reads   []*lookup
	snaps   []snapshotIn
	epoch   uint64
}

type change struct {
	uid     int64
	version int64
	xid     uint64
	told    bool
	visible bool
}

type lookup struct {
	uid     int64
	kept    *read
	version int64 // that it saw; -1: not asked yet
}

type snapshotIn struct {
	s     snapshot
	epoch uint64
}

func (w *world) snapshot() snapshot {
	s := snapshot{xmin: w.next, xmax: w.next}
	for _, c := range w.log {
		if !c.visible {
			s.running = append(s.running, c.xid)
			s.xmin = min(s.xmin, c.xid)
		}
	}
	return s
}

// locked reports whether a transaction that changed the order has not ended: another would wait for it.
func (w *world) locked(uid int64) bool {
	for _, c := range w.log {
		if c.uid == uid && !c.visible {
			return true
		}
	}
	return false
}

// check holds what Live relies on: no entry is older than a change that was told and can be seen.
func (w *world) check(t *rapid.T) {
	want := make(map[int64]int64)
	for _, c := range w.log {
		if c.told && c.visible {
			want[c.uid] = max(want[c.uid], c.version)
		}
	}
	for uid, v := range want {
		if o, ok := w.m.get(uid); ok && o.Version < v {
			t.Fatalf("order %d is kept as version %d; %d was told and is visible", uid, o.Version, v)
		}
	}
}

func (w *world) reset(open bool) {
	s := w.snapshot()
	w.epoch = w.m.reset(open, uint32(s.xmax-1))
	for _, c := range w.log { // the next feed tells nothing of these
		c.told = true
	}
	w.told = len(w.log)
}

// commit has a transaction write a change to the log.
func (w *world) commit(uid int64) {
	w.version[uid]++
	w.log = append(w.log, &change{uid: uid, version: w.version[uid], xid: w.next})
	w.next++
}

// tell has the feed tell of the next change in the log.
func (w *world) tell() {
	c := w.log[w.told]
	w.told++
	c.told = true
	w.m.changed(c.uid, uint32(c.xid))
}

func (w *world) show(c *change) {
	c.visible = true
	w.visible[c.uid] = max(w.visible[c.uid], c.version)
}

func (w *world) settle(s snapshotIn) { w.m.settle(&s.s, s.epoch) }

// TestMemoryKeepsNothingOutdated tries orders of events at random. Rare ones are many steps long, so common
// successions are one step too.
func TestMemoryKeepsNothingOutdated(t *testing.T) {
	for range 5 {
		rapid.Check(t, tryMemory)
	}
}

func tryMemory(t *rapid.T) {
	w := &world{m: newMemory(100), next: 1<<32 - 6, visible: make(map[int64]int64), version: make(map[int64]int64)}
	w.reset(true)
	uids := rapid.Int64Range(1, 2)
	pick := func(n int, what string) int {
		if n == 0 {
			t.Skip("none")
		}
		return rapid.IntRange(0, n-1).Draw(t, what)
	}
	t.Repeat(map[string]func(*rapid.T){
		"commit": func(t *rapid.T) {
			uid := uids.Draw(t, "uid")
			if w.locked(uid) {
				t.Skip("locked")
			}
			w.commit(uid)
			c := w.log[len(w.log)-1]
			if rapid.Bool().Draw(t, "told") {
				for w.told < len(w.log) {
					w.tell()
				}
			}
			if rapid.Bool().Draw(t, "visible") {
				w.show(c)
			}
		},
		"tell": func(t *rapid.T) {
			if w.told == len(w.log) {
				t.Skip("all is told")
			}
			w.tell()
		},
		"become visible":  func(t *rapid.T) { w.show(w.log[pick(len(w.log), "change")]) },
		"take a snapshot": func(t *rapid.T) { w.snaps = append(w.snaps, snapshotIn{w.snapshot(), w.epoch}) },
		"settle": func(t *rapid.T) {
			i := pick(len(w.snaps), "snapshot")
			w.settle(w.snaps[i])
			w.snaps = append(w.snaps[:i], w.snaps[i+1:]...)
		},
		"fence": func(t *rapid.T) { w.settle(snapshotIn{w.snapshot(), w.epoch}) },
		"begin to read": func(t *rapid.T) {
			r := &lookup{uid: uids.Draw(t, "uid"), version: -1}
			r.kept, _ = w.m.begin(r.uid)
			if rapid.Bool().Draw(t, "at once") {
				r.version = w.visible[r.uid]
			}
			w.reads = append(w.reads, r)
		},
		"read": func(t *rapid.T) {
			if r := w.reads[pick(len(w.reads), "read")]; r.version < 0 {
				r.version = w.visible[r.uid]
			}
		},
		"end to read": func(t *rapid.T) {
			i := pick(len(w.reads), "read")
			r := w.reads[i]
			w.reads = append(w.reads[:i], w.reads[i+1:]...)
			w.m.end(r.kept, order.Order{UID: r.uid, Version: r.version}, r.version >= 0)
		},
		"lose the feed": func(t *rapid.T) { w.reset(rapid.IntRange(0, 9).Draw(t, "open") > 0) },
		"truncate": func(t *rapid.T) {
			if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
				w.m.truncated(uint32(w.next))
				w.next++
			}
		},
		"": w.check,
	})
}

// TestMemoryKeeps: the rules do not forbid everything.
func TestMemoryKeeps(t *testing.T) {
	m := newMemory(100)
	keep := func(version int64) bool {
		r, _ := m.begin(1)
		m.end(r, order.Order{UID: 1, Version: version}, true)
		o, ok := m.get(1)
		return ok && o.Version == version
	}
	if keep(1) {
		t.Error("kept without a feed")
	}
	epoch := m.reset(true, 99)
	if keep(1) {
		t.Error("kept while transactions before the feed's beginning are open")
	}
	m.settle(&snapshot{xmin: 100, xmax: 100}, epoch)
	if !keep(1) {
		t.Error("not kept though nothing is in the way")
	}
	m.changed(1, 100)
	if keep(1) {
		t.Error("kept while a transaction that changed it is open")
	}
	m.settle(&snapshot{xmin: 101, xmax: 101}, epoch)
	if !keep(2) {
		t.Error("not kept after the transaction ended")
	}
	for uid := int64(1); uid <= maxUnsettled+1; uid++ {
		m.changed(uid, uint32(100+uid))
	}
	if len(m.unsettled) > maxUnsettled || !m.wall {
		t.Errorf("%d changes are told apart", len(m.unsettled))
	}
	last := uint64(100 + maxUnsettled + 1)
	m.settle(&snapshot{xmin: last, xmax: last + 1, running: []uint64{last}}, epoch)
	if keep(3) {
		t.Error("kept though one of very many transactions is open")
	}
	m.settle(&snapshot{xmin: last + 1, xmax: last + 1}, epoch)
	if !keep(3) {
		t.Error("not kept after very many transactions ended")
	}
	if len(m.reads) != 0 {
		t.Errorf("%d reads are left", len(m.reads))
	}
}

func TestSnapshot(t *testing.T) {
	s, err := parseSnapshot("4294967290:4294967300:4294967290,4294967297")
	if err != nil {
		t.Fatal(err)
	}
	for xid, want := range map[uint32]bool{4294967289: true, 4294967290: false, 4294967291: true, 0: true, 1: false, 3: true, 4: false, 5: false, 1 << 30: false, 3 << 30: true} {
		if got := s.ended(xid); got != want {
			t.Errorf("transaction %d has ended: %v, want %v", xid, got, want)
		}
	}
	if s, err := parseSnapshot("10:10:"); err != nil || s.ended(10) || !s.ended(9) {
		t.Errorf("%+v %v", s, err)
	}
	for _, text := range []string{"", "1", "1:2", "a:2:", "1:b:", "2:1:", "1:2:x", "1:2:1,", "-1:2:"} {
		if s, err := parseSnapshot(text); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
	}
}

func TestGeometry(t *testing.T) {
	g := geometry{page: 8192, segment: 16 << 20}
	for at, want := range map[pgoutput.LSN]pgoutput.LSN{
		16<<20 + 40:   16 << 20, // the first page of a segment
		16<<20 + 24:   16<<20 + 24,
		3*8192 + 24:   3 * 8192,
		3*8192 + 40:   3*8192 + 40, // a short record may end there
		3*8192 + 4096: 3*8192 + 4096,
	} {
		if got := g.end(at); got != want {
			t.Errorf("%s: %s, want %s", at, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p progress
		begun := time.Now()
		go func() {
			for at := pgoutput.LSN(1); at <= 5; at++ {
				time.Sleep(time.Second)
				p.move(at)
			}
			time.Sleep(time.Second)
			p.end()
		}()
		for _, step := range []struct {
			target   pgoutput.LSN
			patience time.Duration
			want     bool
			at       time.Duration
		}{
			{3, 10 * time.Second, true, 3 * time.Second},
			{3, 0, true, 3 * time.Second},
			{4, time.Second / 2, false, 3*time.Second + time.Second/2},
			{5, 10 * time.Second, true, 5 * time.Second},
			{9, 10 * time.Second, false, 6 * time.Second}, // it ended
			{1, 10 * time.Second, false, 6 * time.Second},
		} {
			if got := p.wait(step.target, step.patience); got != step.want || time.Since(begun) != step.at {
				t.Errorf("%d: %v after %s, want %v after %s", step.target, got, time.Since(begun), step.want, step.at)
			}
		}
	})
}
