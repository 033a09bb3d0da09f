package notify

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/refusal"
	"dyno/parts/wal"
	"dyno/services/notify/api"
	"dyno/services/notify/dispatch"
	"dyno/services/notify/notice"
)

// refused holds that a post was refused with a status.
func (w *world) refused(status int, notices ...*notice.Notice) {
	err := w.post(notices...)
	if r := (*refusal.Error)(nil); !errors.As(err, &r) || r.Status != status {
		w.fail("a post came to %v, want a refusal with %d", err, status)
		return
	}
	answer := httptest.NewRecorder()
	if api.AnswerError(answer, err); answer.Code != status || answer.Header().Get("Retry-After") == "" {
		w.fail("the answer: %d, headers %v", answer.Code, answer.Header())
	}
}

// A full disk refuses what it has no room for, without a trace of it; when there is space again,
// all goes on as it is.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		w := newWorld(t, patient(map[string]string{"window": "1000"}))
		w.subscribe(p.host)
		before := aSeries("before", 50, "k", "t")
		w.mustPost(before...)
		w.settle()
		pass(2 * time.Second)
		for round := range 3 {
			w.disk.Full(0)
			w.refused(http.StatusInsufficientStorage, aSeries(fmt.Sprintf("full%d-", round), 600, "k", "t")...)
			if s := w.sums(); s.Pending != 0 || s.Accepted != int64(50*(round+1)) {
				t.Errorf("what was refused is counted: %+v", s)
			}
			w.disk.Full(-1)
			after := aSeries(fmt.Sprintf("full%d-", round), 50, "k", "t") // the ids of what was refused are free
			before = append(before, after...)
			w.mustPost(after...)
			w.settle()
		}
		w.got(p, "", idsOf(before))
		if len(w.told) != 0 {
			t.Errorf("a full disk is no reason to stop: %v", w.told)
		}
		w.stop()
		w.start()
		if s := w.settle(); s.Seq != 200 || s.Delivered != 200 {
			t.Errorf("after a restart: %+v", s)
		}
		w.stop()
	})
}

// A disk that is full of what was delivered is free again within seconds, however often that
// happens, and however the process ends in between; what is not delivered stays.
func TestDiskFullOfHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, q := newPeer(t, nil), newPeer(t, nil)
		w := newWorld(t, patient(map[string]string{"max_backoff": "1s", "window": "1000"}))
		w.subscribe(p.host)
		w.subscribe(q.host, ofTypes("rare"))
		fill := func(round int) (ids []string) {
			for i := range 10_000 {
				ns := aSeries(fmt.Sprintf("r%d-%d-", round, i), 50, "", "t")
				if err := w.post(ns...); err != nil {
					var r *refusal.Error
					if !errors.As(err, &r) || r.Status != http.StatusInsufficientStorage {
						t.Fatal(err)
					}
					return ids
				}
				ids = append(ids, idsOf(ns)...)
				pass(10 * time.Millisecond)
			}
			t.Fatal("the disk is never full")
			return nil
		}
		w.disk.Full(1 << 20)
		var want []string
		for round := range 6 {
			if round == 3 { // what is not delivered keeps what is behind it
				q.answers(func(hook) outcome { return outcome{status: 500} })
			}
			rare := aNotice(fmt.Sprintf("rare%d", round), "k", "rare")
			w.mustPost(rare)
			ids := append([]string{rare.ID}, fill(round)...)
			if want = append(want, ids...); len(ids) < 500 {
				t.Errorf("round %d: only %d notices found room", round, len(ids))
			}
			if round == 3 {
				pass(10 * time.Second)
				want = append(want, fill(100)...)
				if s := w.sums(); s.Pending != 1 || s.LogFirstSeq > s.Seq-uint64(len(ids)) {
					t.Errorf("what is not delivered is not kept: %+v", s)
				}
				q.answers(nil)
			}
			pass(3 * time.Second)
			switch round {
			case 1:
				w.kill()
				w.start()
			case 4:
				w.stop()
				w.start()
			}
		}
		if s := w.settle(); s.Accepted != int64(len(want))+6 || s.Delivered != s.Accepted || len(w.told) != 0 {
			t.Errorf("%d were accepted: %+v, %v", len(want), s.Counts, w.told)
		}
		seen := map[string]bool{}
		for _, id := range p.ids("") {
			seen[id] = true
		}
		if len(seen) != len(want) {
			t.Errorf("%d of %d came", len(seen), len(want))
		}
		w.stop()
	})
}

// Delivered notices are given up also when others have taken all the space.
func TestDiskFullOfOthers(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, nil)
			w := newWorld(t, patient(nil))
			w.subscribe(p.host)
			for i := range 20 {
				w.mustPost(aSeries(fmt.Sprintf("n%d-", i), 50, "", "t")...)
				synctest.Wait()
			}
			w.settle()
			w.disk.Full(0)
			if restart {
				w.kill()
				w.start()
			}
			w.refused(http.StatusInsufficientStorage, aSeries("full", 1000, "", "t")...)
			pass(3 * time.Second)
			w.mustPost(aSeries("m", 500, "", "t")...)
			if s := w.settle(); s.Delivered != 1500 || s.LogFirstSeq < 1000 {
				t.Errorf("%+v", s)
			}
			w.stop()
		})
	}
}

// What was not delivered when the disk was full is given up when it is, without another refusal.
func TestDiskFullOfWhatIsOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, q := newPeer(t, nil), newPeer(t, nil)
		q.answers(func(hook) outcome { return outcome{status: 500} })
		w := newWorld(t, patient(map[string]string{"max_backoff": "1s", "window": "1000"}))
		w.subscribe(p.host, ofTypes("t"))
		w.subscribe(q.host, ofTypes("owed"))
		post := func(id, of string) {
			for i := range 20 {
				w.mustPost(aSeries(fmt.Sprintf("%s%d-", id, i), 50, "", of)...)
				pass(10 * time.Millisecond)
			}
		}
		post("delivered", "t")
		post("owed", "owed")
		w.disk.Full(0)
		w.refused(http.StatusInsufficientStorage, aSeries("full", 1000, "", "t")...)
		pass(3 * time.Second)
		if s := w.sums(); s.Pending != 1000 || s.LogFirstSeq > 1001 || s.LogFirstSeq < 1001-segmentHolds {
			t.Errorf("what is not delivered is not kept, or what is delivered: %+v", s)
		}
		q.answers(nil)
		w.settle()
		pass(10 * time.Second)
		if s := w.sums(); s.LogFirstSeq < 2000-segmentHolds {
			t.Errorf("what was delivered since is kept: %+v", s)
		}
		w.disk.Full(-1)
		post("history", "t")
		pass(time.Minute)
		if s := w.settle(); s.LogFirstSeq > 2001 {
			t.Errorf("what came after the disk was full is not kept as history: %+v", s)
		}
		w.stop()
	})
}

// After a failed fsync nothing of what was posted counts, and the next post succeeds; a
// subscription that could not be stored is not there.
func TestFailedSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		w := newWorld(t, patient(nil))
		w.subscribe(p.host)
		var want []string
		for i := range 5 {
			good := aNotice(fmt.Sprintf("good%d", i), "k", "t")
			w.mustPost(good)
			want = append(want, good.ID)
			w.settle()
			pass(2 * time.Second) // the journal has nothing left to sync
			w.disk.FailSync(1)
			w.refused(http.StatusServiceUnavailable, aNotice("bad", "k", "t"))
			w.disk.FailSync(1)
			address := "http://" + p.host + "/bad"
			if _, _, err := w.d.table.Subscribe(dispatch.SubscriptionRequest{URL: &address}); err == nil {
				t.Error("a subscription that could not be stored was accepted")
			}
		}
		w.settle()
		w.got(p, "", want)
		if len(w.told) != 0 {
			t.Errorf("%v", w.told)
		}
		w.kill()
		w.disk = w.disk.Crash(1)
		w.start()
		if s := w.settle(); s.Accepted != int64(len(want)) || len(s.Subscriptions) != 1 {
			t.Errorf("after a power cut: %+v", s)
		}
		w.got(p, "", want)
		w.stop()
	})
}

// When the log can take no more, Config.Fail receives the error; what was acknowledged
// is there when it is started again.
func TestFailedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := stuck(t)
		w := newWorld(t, patient(map[string]string{"max_backoff": "1h"}))
		w.subscribe(p.host, withConcurrency(1))
		owed := aSeries("n", 20, "", "t")
		w.mustPost(owed...)
		pass(2 * time.Second)
		w.disk.FailSync(1)
		w.refused(http.StatusServiceUnavailable, aNotice("bad", "k", "t"))
		w.disk.FailSync(1) // of the file that takes its place
		w.refused(http.StatusServiceUnavailable, aNotice("bad", "k", "t"))
		for range 3 {
			w.refused(http.StatusServiceUnavailable, aNotice("bad", "k", "t"))
		}
		if len(w.told) == 0 || !errors.Is(w.told[0], wal.ErrFailed) {
			t.Errorf("Fail received %v", w.told)
		}
		if s := w.sums(); s.Pending != 20 {
			t.Errorf("%+v", s)
		}
		w.kill()
		release()
		w.start()
		if s := w.settle(); s.Delivered != 20 || s.Seq != 20 {
			t.Errorf("after a restart: %+v", s)
		}
		w.mustPost(aNotice("bad", "k", "t"))
		w.settle()
		w.stop()
	})
}
