package notify

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/wal"
)

// refused holds that a post was refused with a status.
func (w *world) refused(status int, notices ...*notice) {
	err := w.post(notices...)
	if r := (*refusal)(nil); !errors.As(err, &r) || r.status != status {
		w.fail("a post came to %v, want a refusal with %d", err, status)
	}
}

// A full disk refuses what it has no room for, without a trace of it; when there is space again, all goes on as
// it is.
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

// After a failed fsync nothing of what was posted counts, and the next post succeeds; a subscription that
// could not be stored is not there.
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
			if _, _, err := w.d.subscribe(wish{URL: &address}); err == nil {
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

// When the log can take no more, the one who started the dispatcher is told; what was acknowledged is there
// when it is started again.
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
		w.disk.FailSync(1) // of the file that is to take its place
		w.refused(http.StatusServiceUnavailable, aNotice("bad", "k", "t"))
		for range 3 {
			w.refused(http.StatusServiceUnavailable, aNotice("bad", "k", "t"))
		}
		if len(w.told) == 0 || !errors.Is(w.told[0], wal.ErrFailed) {
			t.Errorf("told %v", w.told)
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
