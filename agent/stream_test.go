package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dyno/agent/internal/leaktest"
	"dyno/agent/monotonic"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// seeded calls check with random numbers of a hundred seeds, as subtests that name them.
func seeded(t *testing.T, check func(t *testing.T, r *rand.Rand)) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { check(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func next(t *testing.T, l *listener) Sample {
	t.Helper()
	line, more := <-l.lines
	if !more {
		t.Fatal("the stream has ended")
	}
	var s Sample
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return s
}

func join(t *testing.T, a *Agent) *listener {
	t.Helper()
	l, err := a.stream.join()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// In the bubble time stands still between the timers, so a sample that is not taken immediately
// shows.
func TestSamplesLieOnMultiplesOf100ms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(33 * time.Millisecond) // start between two
		a := New(Config{})
		defer a.Close()
		l := join(t, a)
		last := next(t, l).At
		for range 5 {
			at := next(t, l).At
			if at%period != 0 || at-last != period {
				t.Fatalf("a sample at %d ns after one at %d ns", at, last)
			}
			last = at
		}
	})
}

func TestUntilNext(t *testing.T) {
	seeded(t, func(t *testing.T, r *rand.Rand) {
		now := int64(r.Uint64()) / 2
		wait := int64(untilNext(now))
		if wait <= 0 || wait > period || (now+wait)%period != 0 {
			t.Fatalf("%d ns after %d ns", wait, now)
		}
	})
}

func TestGaugeThatFailsCostsOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		release := make(chan struct{})
		a.Gauge("panics", func() float64 { panic("no") })
		a.Gauge("infinite", func() float64 { return math.Inf(1) })
		a.Gauge("none", func() float64 { return math.NaN() })
		a.Gauge("hangs", func() float64 { <-release; return 2 })
		a.Gauge("depth", func() float64 { return 1 })
		a.Gauge("depth", func() float64 { return 7 }) // replaces the one before
		l := join(t, a)
		first := next(t, l)
		for range 3 {
			s := next(t, l)
			if len(s.Gauges) != 1 || s.Gauges["depth"] != 7 {
				t.Fatalf("gauges %v, want only depth", s.Gauges)
			}
			if (s.At-first.At)%period != 0 {
				t.Fatalf("a hanging gauge shifted the samples to %d ns", s.At)
			}
		}
		close(release)
		synctest.Wait() // the old reading ends; its late answer belongs to no sample
		if s := next(t, l); s.Gauges["hangs"] != 2 {
			t.Fatalf("gauges %v after the hanging one came free", s.Gauges)
		}
	})
}

func TestCloseDoesNotWaitForeverForAGauge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		release := make(chan struct{})
		for _, name := range []string{"one", "other"} {
			a.Gauge(name, func() float64 { <-release; return 0 })
		}
		next(t, join(t, a))
		before := time.Now()
		a.Close()
		if took := time.Since(before); took > time.Second {
			t.Errorf("Close took %v with two hanging gauges", took)
		}
		close(release)
	})
}

func TestOneSamplerForAllAndOnlyWhileSomebodyListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		var readings atomic.Int64
		a.Gauge("readings", func() float64 { return float64(readings.Add(1)) })
		time.Sleep(untilNext(monotonic.Now()) + time.Duration(period/2)) // to between two samples
		expect := func(want int64, when string) {
			t.Helper()
			readings.Store(0)
			time.Sleep(time.Second)
			if got := readings.Load(); got != want {
				t.Errorf("%d readings in a second %s, want %d", got, when, want)
			}
		}
		expect(0, "before anybody listens")
		one, other := join(t, a), join(t, a)
		expect(10, "with two listeners")
		a.stream.leave(one)
		expect(10, "with one listener")
		a.stream.leave(other)
		expect(0, "after the last has left")
		join(t, a)
		expect(10, "with a new listener")
	})
}

func TestReaderThatFallsBehindIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		stuck, good := join(t, a), join(t, a)
		for range 2 * listenerLines {
			next(t, good)
		}
		got := 0
		for range stuck.lines {
			got++
		}
		if got != listenerLines || !stuck.dropped {
			t.Errorf("the stuck reader was left %d lines, dropped %v", got, stuck.dropped)
		}
		if good.dropped {
			t.Error("the good reader was dropped")
		}
	})
}

// blocked is a connection whose peer does not read.
type blocked struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (b blocked) Write([]byte) (int, error)        { <-b.release; return 0, nil }
func (b blocked) SetWriteDeadline(time.Time) error { return nil }

func TestDroppedReaderSeesABrokenStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		w := blocked{httptest.NewRecorder(), make(chan struct{})}
		how := make(chan any)
		go func() {
			defer func() { how <- recover() }()
			a.ServeHTTP(w, httptest.NewRequest("GET", PathSamples, nil))
		}()
		time.Sleep(2 * listenerLines * time.Duration(period))
		close(w.release)
		if got := <-how; got != http.ErrAbortHandler {
			t.Errorf("the handler ended with %v, so the reader takes the stream for finished", got)
		}
	})
}

func TestStreamOverHTTP(t *testing.T) {
	a := New(Config{})
	srv := httptest.NewServer(a)
	defer srv.Close()
	answer, err := http.Get(srv.URL + PathSamples)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("Content-Type %q", got)
	}
	lines := bufio.NewScanner(answer.Body)
	var last Sample
	for range 3 {
		if !lines.Scan() {
			t.Fatalf("the stream ended: %v", lines.Err())
		}
		var s Sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.At <= last.At || s.CPU < last.CPU || s.Goroutines == 0 || s.HeapGoal == 0 || s.Allocs < last.Allocs {
			t.Fatalf("sample %+v after %+v", s, last)
		}
		last = s
	}
	a.Close()
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Errorf("Close broke the stream instead of ending it: %v", err)
	}
	again, err := http.Get(srv.URL + PathSamples)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	if again.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("status %d for a stream after Close", again.StatusCode)
	}
}

func TestNumberOfReadersIsBounded(t *testing.T) {
	a := New(Config{})
	defer a.Close()
	for range maxListeners {
		join(t, a)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest("GET", PathSamples, nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"error"`) {
		t.Errorf("%d %s for one reader too many", w.Code, w.Body)
	}
}

func TestSamplesSayWhileAProfileRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Config{})
		defer a.Close()
		profile := a.Marking(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(250 * time.Millisecond)
		}))
		l := join(t, a)
		next(t, l)
		time.Sleep(40 * time.Millisecond) // from within one window to within the third
		go profile.ServeHTTP(nil, nil)
		for i, want := range []bool{true, true, true, false, false} {
			if got := next(t, l).Profiling; got != want {
				t.Errorf("sample %d: profiling %v, want %v", i, got, want)
			}
		}
	})
}
