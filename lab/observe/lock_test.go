package observe

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"dyno/lab/record"
)

// line makes a stack in which the program's own functions are at this line.
func line(n int, stack string) []record.Frame {
	out := at(stack)
	for i, f := range out {
		if f.Own {
			out[i].Line = n
		}
	}
	return out
}

// computing is a CPU profile of a second: code that runs between line 10, where wait takes a lock, and line 20.
func computing(share float64, stacks ...string) *record.Profile {
	p := &record.Profile{Type: record.ValueCPU, Seconds: 1}
	for _, s := range stacks {
		p.Stacks = append(p.Stacks, record.Stack{Frames: line(15, s), Value: share * 1e9})
	}
	return p
}

// locked is a wait for a lock that one function takes and another gives back.
func locked(lock, takes, gives string, seconds, share float64) record.Wait {
	w := wait("sync", lock+" < "+takes+" < main.serve"+handler, seconds, 100, 10)
	w.Any, w.WokenBy = share, line(20, strings.Replace(lock, "Lock", "Unlock", 1)+" < "+gives+" < main.serve"+handler)
	return w
}

const mutex = "sync.(*Mutex).Lock"

// Ten readers that wait together for 40% of the time say that for 40% of the time at least one waits; the code of the
// writer, if it shows, says that the lock is held for 40%, and not for more.
func TestReadersThatWaitTogether(t *testing.T) {
	get := locked("sync.(*RWMutex).RLock", "main.(*store).Get", "main.(*store).Put", 4, 0.4)
	get.WokenBy = line(20, "sync.(*RWMutex).Unlock < main.(*store).Put < main.serve"+handler)
	found := find(t, Of(traced(nil, get)), KindLock)
	if len(found) != 1 || found[0].Busy != nil || found[0].Low != 0 || found[0].High != 1 || found[0].AnyWaits != 0.4 || found[0].Waiting != 4 {
		t.Errorf("%+v", found)
	}
	f := traced(nil, get, locked("sync.(*RWMutex).Lock", "main.(*store).Put", "main.(*store).Put", 0.01, 0.01))
	f.Looks[0].CPU = computing(0.4, "main.(*store).Put < main.serve"+handler)
	found = find(t, Of(f), KindLock)
	if len(found) != 1 || found[0].Busy == nil || math.Abs(*found[0].Busy-0.4) > 1e-9 || found[0].Low != 0.4 || found[0].High != 1 {
		t.Errorf("%+v", found)
	}
}

// Functions of which one ends the waits of the other have one lock, methods or not; those that do not have two.
func TestLocksOfSeveralFunctions(t *testing.T) {
	for _, names := range [][2]string{{"main.(*store).Get", "main.(*store).Put"}, {"main.get", "main.put"}, {"main.(*reader).Get", "main.(*writer).Put"}} {
		a, b := names[0], names[1]
		found := find(t, Of(traced(nil, locked(mutex, a, a, 0.3, 0.3), locked(mutex, b, a, 0.2, 0.2))), KindLock)
		if len(found) != 1 || found[0].Name != a || found[0].AnyWaits != 0.3 || found[0].High < steady(0.5)-1e-6 {
			t.Errorf("%+v", found)
		}
		if found := find(t, Of(traced(nil, locked(mutex, a, a, 0.3, 0.3), locked(mutex, b, b, 0.2, 0.2))), KindLock); len(found) != 2 {
			t.Errorf("%+v", found)
		}
	}
}

// A lock that five methods hold for 10% of the time each is held for 50%.
func TestLockOfFiveMethods(t *testing.T) {
	var waits []record.Wait
	var code []string
	for i := range 5 {
		name := func(i int) string { return "main.(*store)." + string(rune('A'+i%5)) }
		waits = append(waits, locked(mutex, name(i), name(i+1), 0.05, 0.05))
		code = append(code, name(i)+" < main.serve"+handler)
	}
	f := traced(nil, waits...)
	f.Looks[0].CPU = computing(0.1, code...)
	found := find(t, Of(f), KindLock)
	if len(found) != 1 || found[0].Busy == nil || math.Abs(*found[0].Busy-0.5) > 1e-9 || found[0].Low != 0.05 || math.Abs(found[0].High-steady(0.25)) > 1e-9 {
		t.Errorf("%+v", found)
	}
	// The code of one of them alone says nothing.
	f.Looks[0].CPU = computing(0.1, code[0])
	if found := find(t, Of(f), KindLock); len(found) != 1 || found[0].Busy != nil {
		t.Errorf("%+v", found)
	}
}

// Of shards or connections the share is not known, and is not that of one lock.
func TestShards(t *testing.T) {
	const shard = "main.(*shard).Do"
	w := locked(mutex, shard, shard, 1.5, 0.77)
	inside := wait("network", "internal/poll.(*FD).Read < "+shard+" < main.serve"+handler, 12.8, 1000, 60)
	inside.Stack = line(15, "internal/poll.(*FD).Read < "+shard+" < main.serve"+handler)
	r := Of(traced(nil, w, inside))
	found := find(t, r, KindLock)
	if len(found) != 1 || found[0].Busy != nil || found[0].Low != 0 || !strings.Contains(found[0].Detail, "12.8 goroutines at a time are between taking and releasing it, so there are several locks, or") {
		t.Errorf("%+v", found)
	}
	if !strings.Contains(r.Summary, "one or several locks in "+shard+" (main.go:10), with at least one waiting goroutine for 77% of the time (share not known, 0% to") {
		t.Error(r.Summary)
	}
	w = locked(mutex, "net/http.(*http2Framer).Write", "main.serve", 1.5, 0.77)
	if found := find(t, Of(traced(nil, w)), KindLock); len(found) != 1 || found[0].Busy != nil || found[0].Low != 0 {
		t.Errorf("%+v", found)
	}
}

// Consumers that wait in sync.Cond.Wait, between taking and releasing a lock, do not hold it.
func TestLockOfACondition(t *testing.T) {
	const get = "main.(*queue).get < main.worker"
	w := locked(mutex, "main.(*queue).get", "main.(*queue).get", 0.3, 0.3)
	idle := wait("sync.(*Cond).Wait", "sync.(*Cond).Wait < "+get, 8, 60, 8)
	idle.Stack = line(15, "sync.(*Cond).Wait < "+get)
	f := traced(nil, w, idle)
	f.Looks[0].CPU = computing(0.4, get)
	found := find(t, Of(f), KindLock)
	if len(found) != 1 || found[0].Busy == nil || math.Abs(*found[0].Busy-0.4) > 1e-9 || strings.Contains(found[0].Detail, "several") || strings.Contains(found[0].Detail, "Cond") {
		t.Errorf("%+v", found)
	}
}

// simulated serves one at a time, in the order of arrival. It returns the share of the time in which
// it serves, and the share in which at least one waits.
func simulated(between, holding func() float64, n int) (held, waiting float64) {
	now, free, from := 0.0, 0.0, 0.0 // from: until when a wait has been counted
	for range n {
		now += between()
		begin := max(now, free)
		if begin > now {
			waiting += begin - max(now, from)
			from = begin
		}
		length := holding()
		held += length
		free = begin + length
	}
	return held / free, waiting / free
}

// The range holds for locks that are held for any time, when their takers come at random or in
// bursts.
func TestRangeOfALock(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	holding := map[string]func() float64{
		"steady": func() float64 { return 1 },
		"random": rng.ExpFloat64,
		"varied": func() float64 {
			if rng.Float64() < 0.1 {
				return 6 * rng.ExpFloat64()
			}
			return 0.4 * rng.ExpFloat64()
		},
	}
	for _, load := range []float64{0.05, 0.2, 0.5, 0.8, 0.95} {
		for name, hold := range holding {
			for _, burst := range []int{1, 5} {
				i := 0
				between := func() float64 {
					if i++; i%burst != 0 {
						return 0
					}
					return float64(burst) * rng.ExpFloat64() / load
				}
				held, waiting := simulated(between, hold, 200_000)
				if low, high := waiting, steady(waiting); held < low || held > high+0.01 {
					t.Errorf("%s, %v, bursts of %d: held %.3f, range %.3f to %.3f", name, load, burst, held, low, high)
				}
			}
		}
	}
}

func TestSteady(t *testing.T) {
	for _, u := range []float64{0, 0.1, 0.5, 0.9, 1} {
		if got := steady(1 - (1-u)*math.Exp(u)); math.Abs(got-u) > 1e-6 {
			t.Errorf("%v: %v", u, got)
		}
	}
}

// A function that holds a lock and never waits for it may hold it at any time.
func TestLockOfOneWhoNeverWaits(t *testing.T) {
	w := wait("sync", locking, 0.1, 25, 10)
	w.WokenBy = line(20, "sync.(*Mutex).Unlock < main.(*store).compact < main.run")
	if found := find(t, Of(traced(nil, w)), KindLock); len(found) != 1 || found[0].High != 1 {
		t.Errorf("%+v", found)
	}
}
