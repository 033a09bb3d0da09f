package notify

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dyno/parts/quicktest"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
	"dyno/services/notify/topic"
)

// powerCut ends the dispatcher as the machine's does: what was not synced is left to chance.
func (w *world) powerCut(seed uint64) {
	after := w.disk.Crash(seed)
	w.running = false
	_, _ = w.d.abandon(context.Background()) // it has no disk to say good-bye to
	w.disk = after
}

// An attempt that was put off is made when it is due, not at the start, however the process ended.
func TestParkedAttemptsKeepTheirTime(t *testing.T) {
	for _, how := range []string{"kill", "checkpoint and kill", "stop", "stop twice"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const after = 3000 * time.Second
				answers := outcome{status: 429, after: after}
				p := newPeer(t, func(hook) outcome { return answers })
				w := newWorld(t, patient(map[string]string{"window": "100"}))
				w.subscribe(p.host)
				began := time.Now()
				w.mustPost(aNotice("1", "k", "t"), aNotice("2", "k", "t"))
				pass(10 * time.Minute)
				switch how {
				case "checkpoint and kill":
					w.checkpoint()
					w.kill()
				case "kill":
					w.kill()
				case "stop twice":
					w.stop()
					w.start()
					w.stop()
				default:
					w.stop()
				}
				w.start()
				pass(time.Minute)
				answers.status = http.StatusOK
				if n := len(p.seen("")); n != 1 {
					t.Errorf("%d attempts, and only the first was due", n)
				}
				w.settle()
				if got := p.seen(""); got[1].at.Sub(began) < after-dispatch.Tick || got[1].at.Sub(began) > after+10*dispatch.Tick {
					t.Errorf("the second attempt was after %v, due after %v", got[1].at.Sub(began), after)
				}
				w.got(p, "", []string{"1", "2"})
				w.stop()
			})
		})
	}
}

// A dead letter that is replayed goes on being so after a restart, until it is delivered or dead
// again.
func TestReplayingSurvives(t *testing.T) {
	for _, kill := range []bool{true, false} {
		for _, ends := range []int{http.StatusOK, http.StatusBadRequest} {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t, func(hook) outcome { return outcome{status: 400} })
				w := newWorld(t, patient(map[string]string{"max_attempts": "3", "backoff": "1m", "max_backoff": "1m"}))
				sub := w.subscribe(p.host)
				w.mustPost(aNotice("1", "k", "t"), aNotice("2", "k", "t"))
				if s := w.settle(); s.Dead != 2 {
					t.Errorf("%+v", s)
				}
				var replayed struct{ ID string }
				w.call("POST", "/v1/dead/"+sub+"-1/replay", http.StatusAccepted, &replayed)
				for range 2 {
					pass(2 * time.Second)
					if s := w.sums(); s.Pending != 1 || s.Dead != 1 || len(w.d.store.Journal.DeadLetters(sub)) != 2 {
						t.Errorf("while it is replayed: %+v", s)
					}
					if kill {
						w.kill()
					} else {
						w.stop()
					}
					w.start()
				}
				p.answers(func(hook) outcome { return outcome{status: ends} })
				s := w.settle()
				letters := w.d.store.Journal.DeadLetters(sub)
				switch {
				case ends == http.StatusOK && (s.Delivered != 1 || s.Dead != 1 || len(letters) != 1 || letters[0].Seq != 2),
					ends != http.StatusOK && (s.Delivered != 0 || s.Dead != 2 || len(letters) != 2 || letters[0].Replaying):
					t.Errorf("it ended with %d: %+v, letters %+v", ends, s, letters)
				}
				w.stop()
			})
		}
	}
}

// Many subscriptions are taken up again, each with what it was owed.
func TestRecoverManySubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kinds = 100
		subs := 1000
		if !quicktest.On() {
			subs = 10_000
		}
		owed := 50 * subs / kinds
		p, release := stuck(t)
		w := newWorld(t, patient(map[string]string{"max_backoff": "1h", "memory": "1024", "dedup_limit": "10"}))
		for i := range subs {
			w.subscribe(p.host, ofTypes(fmt.Sprintf("kind%d", i%kinds)))
		}
		for i := range 5 {
			w.mustPost(aSeries(fmt.Sprintf("n%d-", i), 10, "k", "kind7")...)
		}
		pass(2 * time.Second)
		before := w.sums()
		w.kill()
		w.visited.Store(0)
		w.start()
		if n := w.visited.Load(); n > 50+scanRecords {
			t.Errorf("%d of 50 records were read", n)
		}
		after := w.sums()
		if len(after.Subscriptions) != subs || int(after.Accepted) != owed || after.Pending != before.Pending || after.Pending != owed {
			t.Errorf("%d subscriptions, %d accepted, %d pending, before %d", len(after.Subscriptions), after.Accepted, after.Pending, before.Pending)
		}
		release()
		if s := w.settle(); int(s.Delivered) != owed {
			t.Errorf("%d were delivered", s.Delivered)
		}
		w.stop()
	})
}

// step is what happens next to a dispatcher.
type step struct {
	Do    string
	N     int      // of notices, or seconds, or which subscription
	Types []string // that it wants from now on
	Seed  uint64
}

var anyStep = rapid.Custom(func(t *rapid.T) step {
	return step{
		Do:    rapid.SampledFrom([]string{"post", "post", "post", "pass", "change", "checkpoint", "kill", "power cut", "stop", "fall ill", "recover"}).Draw(t, "do"),
		N:     rapid.IntRange(0, 40).Draw(t, "n"),
		Types: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "b.*", "b.c"}), 0, 3, rapid.ID).Draw(t, "types"),
		Seed:  rapid.Uint64().Draw(t, "seed"),
	}
})

// Whatever happens to the process and the machine, each subscription gets all it wanted when it was
// accepted, in order per key, and the sums add up.
func TestJourney(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(anyStep, 1, 25).Draw(rt, "steps")
		window := rapid.SampledFrom([]string{"2", "10", "1000"}).Draw(rt, "window")
		batch := rapid.SampledFrom([]int{1, 5}).Draw(rt, "batch")
		var faults []string
		synctest.Test(t, func(t *testing.T) { faults = journey(t, window, batch, steps) })
		if len(faults) > 0 {
			rt.Fatal(strings.Join(faults, "\n"))
		}
	})
}

func journey(t *testing.T, window string, batch int, steps []step) (faults []string) {
	p := newPeer(t, nil)
	w := newWorld(t, patient(map[string]string{"window": window}), func(c *Config) { c.testing.withoutKeeping = true })
	w.fail = func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	const subs, keys = 3, 4
	var ids [subs]string
	var wants [subs][]string           // types
	var owed [subs]map[string][]string // by key
	for i := range subs {
		ids[i], owed[i] = w.subscribe(fmt.Sprintf("%s/%d", p.host, i), inBatchesOf(batch)), map[string][]string{}
	}
	posted, accepted := 0, int64(0)
	for _, s := range steps {
		switch s.Do {
		case "post":
			var ns []*notice.Notice
			for range s.N {
				kind, key := []string{"a", "b", "b.c", "b.d"}[posted*7%4], fmt.Sprintf("k%d", posted*3%keys)
				ns = append(ns, aNotice(fmt.Sprintf("n%05d", posted), key, kind))
				posted++
				for i := range subs {
					if topic.Match(wants[i], kind) {
						owed[i][key] = append(owed[i][key], ns[len(ns)-1].ID)
						accepted++
					}
				}
			}
			if s.N > 0 {
				w.mustPost(ns...)
			}
		case "pass":
			pass(time.Duration(s.N) * 50 * time.Millisecond)
		case "change":
			i := s.N % subs
			w.change(ids[i], ofTypes(s.Types...))
			wants[i] = s.Types
		case "checkpoint":
			if err := w.d.maintainer.Save(); err != nil {
				w.fail("%v", err)
			}
		case "kill":
			w.kill()
			w.start()
		case "power cut":
			w.powerCut(s.Seed)
			w.start()
		case "stop":
			w.stop()
			w.start()
		case "fall ill":
			p.answers(func(h hook) outcome { return outcome{status: 400 + s.N%3*50} })
		case "recover":
			p.answers(nil)
		}
		w.sums()
	}
	p.answers(nil)
	if s := w.settle(); s.Accepted != accepted || s.Delivered != accepted || s.Lost != 0 {
		w.fail("%d were accepted: %+v", accepted, s)
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
			if key := fmt.Sprintf("k%d", k); !slices.Equal(got[key], owed[i][key]) {
				w.fail("subscription %d, key %s: got %v, want %v", i, key, got[key], owed[i][key])
			}
		}
	}
	if w.stop() != 0 {
		w.fail("something is left")
	}
	return faults
}
