package notify

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/notify/dispatch"
)

// seqs is the numbers of a subscription's dead letters.
func (w *world) seqs(sub string) (seqs []uint64) {
	for _, l := range w.d.store.Journal.DeadLetters(sub) {
		if l.Reason != dispatch.ReasonExpired {
			w.fail("letter %+v", l)
		}
		seqs = append(seqs, l.Seq)
	}
	return seqs
}

// firsts reports whether these are 1, 2, 3, ...
func firsts(seqs []uint64) bool {
	for i, seq := range seqs {
		if seq != uint64(i+1) {
			return false
		}
	}
	return true
}

// What a subscription is owed for too long becomes dead letters, the oldest first, in memory and in
// the log.
func TestKeepAge(t *testing.T) {
	for _, window := range []string{"4", "1000"} {
		for _, key := range []string{"", "k"} {
			synctest.Test(t, func(t *testing.T) {
				p, release := stuck(t)
				w := newWorld(t, patient(map[string]string{"window": window, "keep_age": "1h", "max_backoff": "1m", "max_attempts": "100"}))
				w.c.MaxAttempts = 1 << 20
				sub := w.subscribe(p.host)
				w.mustPost(aSeries("n", 30, key, "t")...)
				pass(40 * time.Minute)
				w.mustPost(aSeries("o", 30, key, "t")...)
				if s := w.sums(); s.Dead != 0 {
					t.Errorf("too early: %+v", s)
				}
				pass(20*time.Minute + 3*time.Second)
				if s, seqs := w.sums(), w.seqs(sub); s.Dead != 30 || len(seqs) != 30 || !firsts(seqs) {
					t.Errorf("window %s, key %q: letters %v, %+v", window, key, seqs, s)
				}
				release()
				if s := w.settle(); s.Delivered != 30 || s.Dead != 30 {
					t.Errorf("%+v", s)
				}
				w.stop()
			})
		}
	}
}

// Beyond the bytes that a subscription may be owed, the oldest become dead letters. The notices are
// large, so that what else one costs is next to nothing.
func TestKeepBytes(t *testing.T) {
	for _, window := range []string{"4", "1000"} {
		synctest.Test(t, func(t *testing.T) {
			const each, may = 2000, 50
			p, _ := stuck(t)
			w := newWorld(t, patient(map[string]string{"window": window, "keep_bytes": fmt.Sprint(may * each), "max_backoff": "1h"}))
			sub := w.subscribe(p.host, withConcurrency(1))
			for _, n := range aSeries("n", 300, "", "t") {
				n.Payload = fmt.Appendf(nil, `"%0*d"`, each, 0)
				w.mustPost(n)
			}
			pass(2 * time.Minute) // it is looked at every second, and what is in memory given up
			s, seqs := w.sums(), w.seqs(sub)
			if len(seqs) != int(s.Dead) || !firsts(seqs) || s.Pending > may || s.Pending < may*3/4 {
				t.Errorf("window %s: letters %v, %d pending, %d dead", window, seqs, s.Pending, s.Dead)
			}
			w.stop()
		})
	}
}

// historic are settings that keep little of what everybody has got.
func historic(more map[string]string) map[string]string {
	settings := patient(map[string]string{"window": "100", "history": "0s", "dedup_window": "0s"})
	for k, v := range more {
		settings[k] = v
	}
	return settings
}

const segmentHolds = 300 // of these small notices at most, in the files that tests are on

// What everybody has got is kept for as long as the history says, and not much longer.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		w := newWorld(t, historic(map[string]string{"history": "10m"}))
		w.subscribe(p.host)
		const minutes, each = 30, 200
		for i := range minutes {
			w.mustPost(aSeries(fmt.Sprintf("n%d-", i), each, "", "t")...)
			pass(time.Minute)
		}
		if s := w.sums(); s.LogFirstSeq > (minutes-10)*each || s.LogFirstSeq < (minutes-12)*each-segmentHolds {
			t.Errorf("the log begins with %d of %d", s.LogFirstSeq, s.LogLastSeq)
		}
		w.stop()
	})
}

// More than a number of bytes is not kept for history.
func TestHistoryBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bytes = 100 << 10
		p := newPeer(t, nil)
		w := newWorld(t, historic(map[string]string{"history": "1h", "history_bytes": fmt.Sprint(bytes)}))
		w.subscribe(p.host)
		for i := range 30 {
			w.mustPost(aSeries(fmt.Sprintf("n%d-", i), 200, "", "t")...)
			pass(time.Minute)
		}
		if s := w.sums(); s.LogBytes > bytes+3*16<<10 || s.LogBytes < bytes-16<<10 || s.LogFirstSeq == 1 {
			t.Errorf("%d bytes from %d on", s.LogBytes, s.LogFirstSeq)
		}
		w.stop()
	})
}

// One dead subscription holds no more of the log than it may be owed.
func TestDeadSubscriptionLetsTheLogGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const owed, rounds, each = 20 << 10, 40, 200
		p, _ := stuck(t)
		q := newPeer(t, nil)
		w := newWorld(t, historic(map[string]string{"keep_bytes": fmt.Sprint(owed), "window": "10", "max_backoff": "1m"}))
		dead, well := w.subscribe(p.host), w.subscribe(q.host)
		began := uint64(1)
		for i := range rounds {
			w.mustPost(aSeries(fmt.Sprintf("n%d-", i), each, "", "t")...)
			pass(time.Minute)
			s := w.sums()
			if s.LogBytes > owed+4*16<<10 || s.LogFirstSeq < began {
				t.Fatalf("round %d: %d bytes from %d on: %+v", i, s.LogBytes, s.LogFirstSeq, s.of(dead))
			}
			began = s.LogFirstSeq
		}
		s := w.sums()
		if began < (rounds-5)*each || s.of(well).Delivered != rounds*each || s.of(dead).Dead < (rounds-5)*each {
			t.Errorf("the log begins with %d; %+v", began, s)
		}
		w.stop()
	})
}

// A restart reads what came since the last checkpoint, and the ids that must be known again,
// whatever the size of the log.
func TestRestartReadsLittle(t *testing.T) {
	const remembered, since = 50, 120
	for _, size := range []int{500, 5000} {
		synctest.Test(t, func(t *testing.T) {
			p, q := newPeer(t, nil), newPeer(t, nil)
			w := newWorld(t, patient(map[string]string{"window": "100", "dedup_limit": fmt.Sprint(remembered)}))
			w.subscribe(p.host)
			w.subscribe(q.host, ofTypes("rare"))
			w.mustPost(aSeries("n", size, "", "t")...)
			w.settle()
			w.checkpoint()
			w.mustPost(aSeries("o", since, "", "t")...)
			before := w.settle()
			pass(2 * time.Second)
			w.kill()
			w.visited.Store(0)
			w.start()
			if n := w.visited.Load(); n < since || n > since+remembered+1 {
				t.Errorf("%d records were read, of %d that came since the checkpoint", n, since)
			}
			if after := w.settle(); after.Counts != before.Counts {
				t.Errorf("counts were %+v, are %+v", before.Counts, after.Counts)
			}
			w.stop()
			w.visited.Store(0)
			w.start()
			if n := w.visited.Load(); n > remembered+1 {
				t.Errorf("%d records were read after an orderly stop", n)
			}
			w.stop()
		})
	}
}

// The same is pending, delivered and dead after a restart, whether or not a checkpoint was written
// before.
func TestRestartKeepsCounts(t *testing.T) {
	for _, window := range []string{"2", "1000"} {
		for _, checkpoint := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t, func(h hook) outcome {
					switch h.ids[0][0] {
					case 'd':
						return outcome{status: 404}
					case 'p':
						return outcome{status: 500}
					}
					return outcome{status: 200}
				})
				w := newWorld(t, map[string]string{"window": window, "backoff": "1ms", "max_backoff": "24h", "max_attempts": "3"})
				w.subscribe(p.host)
				w.subscribe(p.host, ofTypes("u.*"))
				w.mustPost(append(aSeries("ok", 40, "", "u.1"), aSeries("dead", 4, "", "t")...)...)
				w.settle()
				w.stop()
				w.c.MaxAttempts, w.c.Backoff = 1000, 24*time.Hour
				w.start()
				w.mustPost(aSeries("pending", 4, "k", "u.2")...)
				pass(time.Minute)
				w.mustPost(aSeries("pending-too", 30, "", "u.2")...)
				pass(time.Minute)
				if checkpoint {
					w.checkpoint()
				}
				before := w.sums()
				if before.Pending != 68 || before.Dead != 4 || before.Delivered != 80 {
					t.Errorf("%+v", before)
				}
				for range 3 {
					w.kill()
					w.start()
					after := w.sums()
					for _, row := range before.Subscriptions {
						is := after.of(row.ID)
						is.Retried = row.Retried // attempts go on
						if is.Counts != row.Counts || is.Pending != row.Pending || is.DeadLetters != row.DeadLetters {
							t.Errorf("window %s, checkpoint %v: was %+v, is %+v", window, checkpoint, row, is)
						}
					}
					pass(2 * time.Second)
				}
				w.stop()
			})
		}
	}
}
