package exectrace

import (
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/exp/trace"
	"pgregory.net/rapid"

	"dyno/lab/record"
)

// The time with at least one wait is what counting every nanosecond gives, as long as few parts are
// kept, and never more.
func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []part
		for range rapid.IntRange(0, 30).Draw(t, "waits") {
			from := rapid.IntRange(0, 300).Draw(t, "from")
			all = append(all, part{trace.Time(from), trace.Time(from + rapid.IntRange(0, 60).Draw(t, "length"))})
		}
		slices.SortFunc(all, func(a, b part) int { return int(a.to - b.to) })
		var o overlap
		covered := map[trace.Time]bool{}
		for _, p := range all {
			o.add(p.from, p.to)
			for at := p.from; at < p.to; at++ {
				covered[at] = true
			}
		}
		if got, want := o.total(), time.Duration(len(covered)); got != want {
			t.Fatalf("%v covers %v, want %v", all, got, want)
		}
	})
}

func TestOverlapIsBounded(t *testing.T) {
	var o overlap
	const waits = 10 * maxParts
	for i := range waits {
		o.add(trace.Time(10*i), trace.Time(10*i+4))
	}
	if len(o.parts) > maxParts || o.total() != 4*waits {
		t.Errorf("%d parts, %v", len(o.parts), o.total())
	}
	o.add(0, 10*waits) // a wait of all the time counts from what is kept
	if got := o.total(); got > 10*waits || got < 4*waits {
		t.Errorf("%v of %v", got, time.Duration(10*waits))
	}
}

// Readers that wait together for a writer wait for much longer in total than the writer holds the
// lock; the time in which any of them waits is no longer than that.
func TestAnyWaits(t *testing.T) {
	const readers = 8
	var mu sync.RWMutex
	var held time.Duration
	s := summarised(t, traced(t, func() {
		var all sync.WaitGroup
		mu.Lock()
		begun := time.Now()
		for range readers {
			all.Go(func() { readsUnder(&mu) })
		}
		await(t, readers, "sync.RWMutex.RLock", "exectrace.readsUnder")
		held = time.Since(begun)
		mu.Unlock()
		all.Wait()
	}))
	var waits []record.Wait
	sum := 0.0
	for _, w := range s.Waits {
		if w.Reason == "sync" && has(w.Stack, "readsUnder") {
			waits, sum = append(waits, w), sum+w.Seconds
		}
	}
	if len(waits) == 0 || waits[0].Any <= 0 || waits[0].Any > sum || waits[0].Any > s.Seconds {
		t.Errorf("%+v in a trace of %v s; the lock was held for %v", waits, s.Seconds, held)
	}
	for _, g := range s.Groups {
		if g.Entry.Function == "dyno/lab/probe/exectrace.TestAnyWaits.func1.1" && g.Started != readers {
			t.Errorf("%+v", g)
		}
	}
}

func readsUnder(mu *sync.RWMutex) {
	mu.RLock()
	defer mu.RUnlock()
}

// Waits for semaphores of a library count by the function that takes one, and those for a pool of pgx by the
// pool's.
func TestNamesOfWaits(t *testing.T) {
	const acquire, puddle, pgx = "golang.org/x/sync/semaphore.(*Weighted).Acquire", "github.com/jackc/puddle/v2.(*Pool[...]).acquire", "github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire"
	for want, functions := range map[string][]string{
		"main.upload golang.org/x/sync/semaphore.(*Weighted)": {"runtime.selectgo", acquire, "main.upload"},
		pgx + " github.com/jackc/puddle/v2.(*Pool[...])":      {"runtime.selectgo", acquire, puddle, pgx, "main.user"},
		"main.(*store).Put sync.(*Mutex)":                     {"sync.(*Mutex).Lock", "main.(*store).Put", "main.serve"},
	} {
		var frames []trace.StackFrame
		for i, f := range functions {
			frames = append(frames, trace.StackFrame{PC: uint64(i + 1), Func: f})
		}
		if got := newStack(trace.MakeStack(frames)).blocks; got != want {
			t.Errorf("%v: %q, want %q", functions, got, want)
		}
	}
}

// Goroutines that sleep one after the other at a place sleep together for no time, whatever sleeps
// elsewhere meanwhile.
func TestAnyWaitsAtOnePlace(t *testing.T) {
	s := summarised(t, traced(t, func() {
		awake := make(chan bool)
		go func() { sleeps(10 * time.Millisecond); close(awake) }()
		for range 5 {
			var one sync.WaitGroup
			one.Go(napsOnce)
			one.Wait()
		}
		<-awake
	}))
	found := false
	for _, w := range s.Waits {
		if has(w.Stack, "exectrace.napsOnce") {
			found = true
			if w.Goroutines != 5 || w.Any < 0.999*w.Seconds || w.Any > 1.001*w.Seconds {
				t.Errorf("%+v", w)
			}
		}
	}
	if !found {
		t.Errorf("%+v", s.Waits)
	}
}

func napsOnce() { sleeps(time.Millisecond) }

func sleeps(d time.Duration) { time.Sleep(d) }
