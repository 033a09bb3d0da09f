package notify

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dyno/services/notify/dispatch"
)

// What delivery begins with and stops at: webhooks in flight to a new receiver, and failures that
// open its breaker.
const (
	firstLimit      = 4
	breakerFailures = 5
)

// A receiver gets four webhooks at first, and one more for each delivery, up to what it allows.
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := newPeer(t, func(hook) outcome { <-release; return outcome{status: 200} })
		w := newWorld(t, map[string]string{"workers": "64"})
		w.subscribe(p.host)
		w.mustPost(aSeries("n", 200, "", "t")...)
		for delivered := range 100 {
			synctest.Wait()
			if n, want := p.inFlight(), min(firstLimit+delivered, dispatch.DefaultConcurrency); n != want {
				t.Fatalf("after %d deliveries %d are in flight, want %d", delivered, n, want)
			}
			release <- struct{}{}
		}
		close(release)
		w.settle()
		w.stop()
	})
}

func TestConcurrencyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, func(hook) outcome { time.Sleep(time.Millisecond); return outcome{status: 200} })
		w := newWorld(t, map[string]string{"workers": "64"})
		w.subscribe(p.host, withConcurrency(7))
		w.mustPost(aSeries("n", 100, "", "t")...)
		if w.settle(); p.most != 7 {
			t.Errorf("%d were in flight concurrently", p.most)
		}
		w.stop()
	})
}

// When the breaker is open there is one attempt a pause, and each pause is twice as long as the one
// before.
func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		p := newPeer(t, func(hook) outcome {
			if well.Load() {
				return outcome{status: 200}
			}
			return outcome{status: 500}
		})
		w := newWorld(t, map[string]string{"backoff": "1s", "max_backoff": "20s", "max_attempts": "100"})
		sub := w.subscribe(p.host)
		began := time.Now()
		w.mustPost(aSeries("n", 300, "", "t")...)
		pass(0)
		if got := p.seen(""); len(got) != breakerFailures || !got[breakerFailures-1].at.Equal(began) {
			t.Fatalf("%d attempts before the breaker opens", len(got))
		}
		last := began
		for n, most := range []time.Duration{1, 2, 4, 8, 16, 20, 20} {
			most *= time.Second
			for i := 0; i < 30_000 && len(p.seen("")) == breakerFailures+n; i++ {
				pass(time.Millisecond)
			}
			got := p.seen("")[breakerFailures+n:]
			if pause := got[0].at.Sub(last); len(got) != 1 || pause < most/2 || pause > most+2*dispatch.Tick {
				t.Fatalf("pause %d: %d attempts after %v, want one after %v to %v", n, len(got), pause, most/2, most)
			}
			if row := w.sums().of(sub); row.State != "failing" || row.Limit != 1 {
				t.Fatalf("pause %d: %+v", n, row)
			}
			last = got[0].at
		}
		well.Store(true)
		if s := w.settle(); s.Delivered != 300 || s.of(sub).State != "ok" {
			t.Errorf("after it got well: %+v", s)
		}
		w.stop()
	})
}

// A Retry-After holds for all keys, and an answer to what was on its way does not shorten it.
func TestRetryAfterHoldsForAll(t *testing.T) {
	for _, later := range []outcome{{status: 200}, {status: 500}, {status: 503}, {status: 429, after: time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, func(h hook) outcome {
				switch {
				case h.ids[0] == "n00000":
					time.Sleep(time.Millisecond) // the others are on their way
					return outcome{status: 429, after: 100 * time.Second}
				case h.ids[0] < "o":
					time.Sleep(10 * time.Millisecond)
					return later
				}
				return outcome{status: 200}
			})
			w := newWorld(t, map[string]string{"backoff": "10ms", "max_attempts": "100"})
			sub := w.subscribe(p.host)
			w.mustPost(aSeries("n", firstLimit, "", "t")...)
			pass(time.Second)
			w.mustPost(aSeries("o", 10, "", "t")...)
			pass(98 * time.Second)
			if n := len(p.seen("")); n != firstLimit {
				t.Errorf("%d webhooks, later %d: want the %d that were on their way", n, later.status, firstLimit)
			}
			if row := w.sums().of(sub); row.State != "throttled" {
				t.Errorf("%+v", row)
			}
			if pass(2 * time.Second); len(p.seen("")) == firstLimit {
				t.Errorf("nothing came after the pause, later %d", later.status)
			}
			w.stop()
		})
	}
}

// A rate holds from the second webhook on, whatever waits.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, nil)
		w := newWorld(t, nil)
		w.subscribe(p.host, withRate(2))
		began := time.Now()
		w.mustPost(aSeries("n", 20, "", "t")...)
		w.settle()
		for i, h := range p.seen("") {
			if at, due := h.at.Sub(began), time.Duration(i)*time.Second/2; at < due-dispatch.Tick || at > due+time.Duration(i+1)*2*dispatch.Tick {
				t.Errorf("webhook %d came after %v, due after %v", i, at, due)
			}
		}
		w.stop()
	})
}
