package notify

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// stuck makes a receiver that fails until release; then what was in flight is tried again.
func stuck(t *testing.T) (p *peer, release func()) {
	var well atomic.Bool
	p = newPeer(t, func(hook) outcome {
		if well.Load() {
			return outcome{status: 200}
		}
		return outcome{status: 503}
	})
	return p, func() { well.Store(true) }
}

// patient are settings under which nothing is given up because it fails, and a receiver that got
// well is noticed soon.
func patient(more map[string]string) map[string]string {
	settings := map[string]string{"backoff": "10ms", "max_backoff": "100ms", "max_attempts": "100", "max_age": "24h", "timeout": "5m", "window": "2"}
	for k, v := range more {
		settings[k] = v
	}
	return settings
}

// got holds that all these came to a path in this order, each once, but for attempts that failed.
func (w *world) got(p *peer, at string, want []string) {
	var ids []string
	for _, id := range p.ids(at) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if !slices.Equal(ids, want) {
		w.fail("%s got %v, want %v", at, ids, want)
	}
}

// However little of it fits into memory, every subscription gets all it should get, in order per
// key.
func TestBacklogKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const subs, notices, keys = 40, 300, 7
		var n atomic.Int64
		p := newPeer(t, func(hook) outcome {
			if n.Add(1)%13 == 0 {
				return outcome{status: 400}
			}
			return outcome{status: 200}
		})
		w := newWorld(t, patient(nil))
		for i := range subs {
			kind := []string{"a", "b", "*"}[i%3]
			w.subscribe(p.host+fmt.Sprintf("/%d", i), ofTypes(kind), inBatchesOf(1+i%4))
		}
		want := map[string][]string{} // by type and key
		for i := range notices {
			kind, key := string("ab"[i%2]), fmt.Sprint(i%keys)
			id := fmt.Sprintf("n%d", i)
			want[kind+key] = append(want[kind+key], id)
			want["*"+key] = append(want["*"+key], id)
			w.mustPost(aNotice(id, key, kind))
			for s := range w.d.table.Statuses() {
				if n := s.Pending - int(s.Backlog); n > w.c.Window {
					t.Errorf("%d are in memory", n)
				}
			}
		}
		if most := w.sums().Backlog; most == 0 {
			t.Error("all of it fits into memory: nothing was tried")
		}
		s := w.settle()
		if s.Dead != 0 || s.Delivered != 14*notices/2+13*notices/2+13*notices {
			t.Errorf("%+v", s)
		}
		for i := range subs {
			got := map[string][]string{}
			for _, h := range p.seen(fmt.Sprintf("/%d", i)) {
				for j, id := range h.ids {
					if k := h.keys[j]; !slices.Contains(got[k], id) {
						got[k] = append(got[k], id)
					}
				}
			}
			for k := range keys {
				if wanted := want[[]string{"a", "b", "*"}[i%3]+fmt.Sprint(k)]; !slices.Equal(got[fmt.Sprint(k)], wanted) {
					t.Fatalf("subscription %d, key %d: got %v, want %v", i, k, got[fmt.Sprint(k)], wanted)
				}
			}
		}
		if w.stop() != 0 {
			t.Error("something is left")
		}
	})
}

// What a subscription wanted when a notice was accepted decides, not what it wants when the notice
// is read.
func TestOldNoticesByOldWishes(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, release := stuck(t)
			w := newWorld(t, patient(nil))
			sub := w.subscribe(p.host, ofTypes("a"))
			var want []string
			for i, types := range [][]string{{"a"}, {"b"}, {"b.*"}, {"a", "b.*"}, {"c"}, nil, {"a"}} {
				if i > 0 {
					w.change(sub, ofTypes(types...))
				}
				for j, kind := range []string{"a", "b", "b.c", "a", "b.d"} {
					n := aNotice(fmt.Sprintf("n%d-%d", i, j), "k", kind)
					before := w.sums().Accepted
					if w.mustPost(n); w.sums().Accepted > before {
						want = append(want, n.ID)
					}
				}
			}
			if len(want) != 2+1+2+4+0+5+2 {
				t.Errorf("%d are wanted: %v", len(want), want)
			}
			if restart {
				w.stop()
				w.start()
			}
			release()
			w.settle()
			w.got(p, "", want)
			w.stop()
		})
	}
}

// What a disabled subscription has not got becomes dead letters, wherever it is, in order; what
// comes later is not for it.
func TestDisabledWithBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := stuck(t)
		w := newWorld(t, patient(nil))
		sub := w.subscribe(p.host)
		owed := aSeries("n", 500, "k", "t")
		w.mustPost(owed...)
		if row := w.sums().of(sub); row.Backlog < 490 {
			t.Fatalf("%+v", row)
		}
		w.change(sub, disabled(true))
		w.mustPost(aSeries("later", 10, "k", "t")...)
		s := w.settle()
		letters := w.d.store.Journal.DeadLetters(sub)
		if s.Dead != 500 || s.Accepted != 500 || len(letters) != 500 {
			t.Errorf("%d letters, %+v", len(letters), s)
		}
		for i, l := range letters {
			if l.Seq != uint64(i+1) || i > 0 && l.Reason != dispatch.ReasonDisabled {
				t.Fatalf("letter %d: %+v", i, l)
			}
		}
		release()
		w.change(sub, disabled(false))
		w.mustPost(aSeries("again", 3, "k", "t")...)
		if s := w.settle(); s.Delivered != 3 {
			t.Errorf("after it was enabled: %+v", s)
		}
		w.stop()
	})
}

// A subscription whose type is rare gets on through a log of others' notices, which no pass reads
// as a whole.
func TestRareType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := stuck(t)
		w := newWorld(t, patient(map[string]string{"window": "1"}))
		sub := w.subscribe(p.host, ofTypes("rare"))
		w.mustPost(aSeries("r", 2, "k", "rare")...)
		const others = 5 * scanRecords / 2
		for i := range others / 5000 {
			w.mustPost(aSeries(fmt.Sprintf("o%d-", i), 5000, "k", "other")...)
		}
		w.mustPost(aSeries("s", 2, "k", "rare")...)
		if row := w.sums().of(sub); row.Backlog != 3 {
			t.Fatalf("%+v", row)
		}
		w.visited.Store(0)
		release()
		if s := w.settle(); s.Delivered != 4 {
			t.Errorf("%+v", s)
		}
		w.got(p, "", []string{"r00000", "r00001", "s00000", "s00001"})
		if n := w.visited.Load(); n < others || n > others+scanRecords {
			t.Errorf("%d records were read, and there are %d", n, others)
		}
		w.stop()
	})
}

// corrupt spoils a byte of each of the notices with these ids, where they lie on the disk.
func (w *world) corrupt(ids ...string) {
	files, err := w.disk.ReadDir("/notices")
	if err != nil {
		w.fail("%v", err)
	}
	found := 0
	for _, f := range files {
		err := w.disk.Corrupt(path.Join("/notices", f.Name), 0, func(data []byte) {
			for _, id := range ids {
				if i := bytes.Index(data, []byte(id)); i >= 0 {
					data[i] ^= 1
					found++
				}
			}
		})
		if err != nil {
			w.fail("%v", err)
		}
	}
	if found < len(ids) {
		w.fail("%d of %d are on the disk", found, len(ids))
	}
}

func without(all []string, gone ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(gone, id) })
}

// Notices in the middle of the log that cannot be read any more are lost for who has not got them:
// counted as dead, told, and everybody gets everything else.
func TestDamagedBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := stuck(t)
		q := newPeer(t, nil)
		w := newWorld(t, patient(nil))
		all, some := w.subscribe(p.host+"/all"), w.subscribe(p.host+"/some", ofTypes("a"))
		well := w.subscribe(q.host)
		var a, ids []string
		for i := range 600 {
			n := aNotice(fmt.Sprintf("n%03d", i), "k", string("ab"[i%2]))
			if ids = append(ids, n.ID); n.Type == "a" {
				a = append(a, n.ID)
			}
			w.mustPost(n)
			synctest.Wait()
		}
		pass(time.Second)
		w.corrupt("n200", "n201", "n203", "n400")
		release()
		s := w.settle()
		w.got(p, "/all", without(ids, "n200", "n201", "n203", "n400"))
		w.got(p, "/some", without(a, "n200", "n400"))
		w.got(q, "", ids)
		for sub, want := range map[string]int64{all: 4, some: 2, well: 0} {
			if row := s.of(sub); row.Dead != want || row.Pending != 0 {
				t.Errorf("%d are lost to a subscription, want %d: %+v", row.Dead, want, row)
			}
		}
		if s.Lost != 6 {
			t.Errorf("%d are counted as lost", s.Lost)
		}
		w.stop()
	})
}

// The same, found at the next start, and when what cannot be read had been delivered before.
func TestDamageFoundAtStart(t *testing.T) {
	for _, checkpoint := range []bool{false, true} {
		t.Run(fmt.Sprintf("checkpoint=%v", checkpoint), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, release := stuck(t)
				q := newPeer(t, nil)
				w := newWorld(t, patient(map[string]string{"max_backoff": "1m"}))
				behind, well := w.subscribe(p.host, ofTypes("t")), w.subscribe(q.host)
				series := aSeries("first", 300, "k", "t")
				for _, n := range series {
					w.mustPost(n)
				}
				pass(time.Second)
				if checkpoint {
					w.checkpoint()
				}
				q.answers(func(hook) outcome { return outcome{} })
				owed := aSeries("owed", 5, "k", "t")
				w.mustPost(owed...)
				pass(2 * time.Second) // the journal is written
				w.kill()
				w.corrupt("first00010", "first00299")
				q.answers(nil)
				release()
				w.start()
				s := w.settle()
				w.got(q, "", slices.Concat(idsOf(series), idsOf(owed)))
				if row := s.of(well); row.Accepted != 305 || row.Delivered != 305 {
					t.Errorf("who had got them: %+v", row)
				}
				if row := s.of(behind); row.Pending != 0 || row.Delivered+row.Dead != row.Accepted || row.Dead != 2 || row.Accepted != 305 || s.Lost != 2 {
					t.Errorf("who had not: %+v, %d lost", row, s.Lost)
				}
				pass(2 * time.Second) // for the checkpoint that a loss brings about
				for range 2 {
					w.kill()
					w.start()
					if s := w.settle(); s.Lost != 2 || s.of(behind).Lost != 2 || s.of(behind).Dead != 2 {
						t.Errorf("after another start %d are lost, %+v", s.Lost, s.of(behind))
					}
				}
				w.mustPost(aSeries("later", 5, "k", "t")...)
				if w.settle().of(well).Delivered != 310 {
					t.Error("what came later was not delivered")
				}
				w.stop()
			})
		})
	}
}

// A record that this version cannot read is lost as a damaged one is, and nothing behind it.
func TestForeignRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := stuck(t)
		w := newWorld(t, patient(nil))
		w.subscribe(p.host)
		before, after := aSeries("before", 50, "k", "t"), aSeries("after", 50, "k", "t")
		for _, n := range before {
			w.mustPost(n)
		}
		if _, err := w.d.store.Notices.Append([][]byte{{notice.RecordVersion + 1, 2, 3}}, nil); err != nil {
			t.Fatal(err)
		}
		w.kill()
		w.corrupt("before00020")
		w.start()
		for _, n := range after {
			w.mustPost(n)
		}
		release()
		w.settle()
		w.got(p, "", slices.Concat(without(idsOf(before), "before00020"), idsOf(after)))
		w.stop()
	})
}
