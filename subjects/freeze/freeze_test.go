package main

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dyno/agent/monotonic"
)

func TestLeft(t *testing.T) {
	f := freezer{length: 200 * time.Millisecond, every: 2 * time.Second}
	for _, c := range []struct{ now, want time.Duration }{
		{0, 200 * time.Millisecond},
		{1, 200*time.Millisecond - 1},
		{200*time.Millisecond - 1, 1},
		{200 * time.Millisecond, 0},
		{2*time.Second - 1, 0},
		{2 * time.Second, 200 * time.Millisecond},
		{7*time.Second + 50*time.Millisecond, 0},
		{8*time.Second + 50*time.Millisecond, 150 * time.Millisecond},
	} {
		if got := f.left(int64(c.now)); got != c.want {
			t.Errorf("%v left at %v, want %v", got, c.now, c.want)
		}
	}
}

// The truth that the package comment promises, at 2,000 requests per second.
func TestAnalyticPercentiles(t *testing.T) {
	f := freezer{length: 200 * time.Millisecond, every: 2 * time.Second}
	var waits []float64 // ms
	for now := time.Duration(0); now < 20*time.Second; now += time.Second / 2000 {
		waits = append(waits, float64(f.left(int64(now)))/1e6)
	}
	slices.Sort(waits)
	for q, want := range map[float64]float64{0.5: 0, 0.9: 0, 0.95: 100, 0.99: 180, 0.999: 198} {
		if got := waits[int(math.Ceil(q*float64(len(waits))))-1]; math.Abs(got-want) > 0.5 { // one request's distance
			t.Errorf("p%v is %v ms, want %v ms", 100*q, got, want)
		}
	}
}

// toTheClocksZero sleeps until the shared clock shows 0. A bubble's time begins in the year 2000,
// which is before that.
func toTheClocksZero() { time.Sleep(time.Duration(-monotonic.Now())) }

func TestAnswersWaitForTheEndOfTheFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := freezer{length: 200 * time.Millisecond, every: 2 * time.Second}
		toTheClocksZero()
		for range 400 { // 7 ms is no divisor of 2 s: the requests fall everywhere
			time.Sleep(7 * time.Millisecond)
			now := monotonic.Now()
			w := httptest.NewRecorder()
			f.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			if took := time.Duration(monotonic.Now() - now); took != f.left(now) {
				t.Fatalf("answered after %v, want %v", took, f.left(now))
			}
			if w.Code != http.StatusOK || w.Body.Len() != 128 {
				t.Fatalf("%d with %d bytes", w.Code, w.Body.Len())
			}
		}
	})
}

func TestClientThatGoesAwayIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := freezer{length: time.Hour, every: 2 * time.Hour}
		toTheClocksZero() // a freeze begins
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		go func() {
			f.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/", nil))
			close(ended)
		}()
		synctest.Wait()
		cancel()
		before := time.Now()
		<-ended
		if took := time.Since(before); took != 0 {
			t.Errorf("the handler went on for %v", took)
		}
	})
}

func TestCheck(t *testing.T) {
	for f, ok := range map[freezer]bool{
		{0, time.Second}:                 true,
		{time.Second - 1, time.Second}:   true,
		{time.Second, time.Second}:       false,
		{-time.Second, time.Second}:      false,
		{0, 0}:                           false,
		{time.Millisecond, -time.Second}: false,
	} {
		if err := f.check(); (err == nil) != ok {
			t.Errorf("freeze %v every %v: %v", f.length, f.every, err)
		}
	}
}
