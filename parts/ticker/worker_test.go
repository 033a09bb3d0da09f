package ticker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/ticker"
)

// Each tick of a worker has its own deadlines and its own lateness: one that takes long makes the
// others late, and moves the deadlines of none.
func TestWorkerHasManySchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w, start := ticker.NewWorker(), time.Now()
		var fast, slow []time.Duration
		var late seen
		ended := ""
		add := func(o ticker.Options, tick func() bool, name string) {
			if ok, err := w.Add(o, tick, func() { ended += name }); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		add(ticker.Options{Period: 10 * ms, Observer: &late}, func() bool {
			fast = append(fast, time.Since(start))
			return true
		}, "fast")
		synctest.Wait()
		time.Sleep(5 * ms)
		add(ticker.Options{Period: 30 * ms}, func() bool {
			slow = append(slow, time.Since(start))
			time.Sleep(7 * ms)
			return len(slow) < 2
		}, "slow")
		if n := w.Len(); n != 2 {
			t.Errorf("%d ticks", n)
		}
		time.Sleep(70 * ms) // until 75 ms
		if n := w.Len(); n != 1 || ended != "slow" {
			t.Errorf("%d ticks, ended %q", n, ended)
		}
		cancel()
		<-done
		equal(t, "slow", slow, []time.Duration{35 * ms, 65 * ms})
		equal(t, "fast", fast, []time.Duration{10 * ms, 20 * ms, 30 * ms, 42 * ms, 50 * ms, 60 * ms, 72 * ms})
		equal(t, "late", late.late, []time.Duration{0, 0, 0, 2 * ms, 0, 0, 2 * ms})
		if ended != "slowfast" {
			t.Errorf("ended %q", ended)
		}
		if ok, err := w.Add(ticker.Options{Period: ms}, func() bool { return true }, func() {}); ok || err != nil {
			t.Error("an ended worker takes a tick", err)
		}
		if _, err := w.Add(ticker.Options{}, func() bool { return true }, func() {}); err == nil {
			t.Error("a period of 0 is accepted")
		}
	})
}
