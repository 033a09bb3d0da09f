package profiling

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"dyno/agent"
	"dyno/lab/record"
)

// Sampling rates of contention while it is recorded. A tenth of the contended unlocks is enough: a
// lock that limits a service is contended thousands of times a second. The runtime samples blocking
// for less than 10 us in proportion to its length; parking and waking a goroutine takes about 10
// us.
const (
	mutexFraction = 10
	blockRate     = 10_000 // ns
)

// RecordContention makes the target's agent record contention, for the mutex and block profiles. It
// returns a function that restores the previous rates, or returns an error if it cannot. The
// function works even after ctx has ended.
//
// Inspect does this itself, but under load that is too late for a lock that is never free: the
// runtime leaves out a lock for which goroutines were already waiting when the rate was switched
// on, until for a moment none waits. So call RecordContention before the load begins.
func RecordContention(ctx context.Context, at Address) (restore func() error, err error) {
	before, err := Control(ctx, at, agent.Control{MutexFraction: new(mutexFraction), BlockRate: new(blockRate)})
	if err != nil {
		return func() error { return nil }, err
	}
	return func() error {
		_, err := Control(context.WithoutCancel(ctx), at, before) // Control has its own time limit
		return err
	}, nil
}

// contention is a mutex or block profile over some time.
type contention struct {
	kind   string
	rate   string // function of package runtime that sets the rate
	over   time.Duration
	during *profile.Profile
	err    error
}

// overTime takes the CPU profile, and the mutex and block profiles of the same time.
func (i *inspector) overTime(ctx context.Context) {
	restore, unswitched := i.switchRates(ctx)
	defer func() { i.unrestored = restore() }()
	mutex := &contention{kind: record.ProfileMutex, rate: "SetMutexProfileFraction"}
	block := &contention{kind: record.ProfileBlock, rate: "SetBlockProfileRate"}
	var taking sync.WaitGroup
	for _, c := range []*contention{mutex, block} {
		taking.Go(func() { i.contend(ctx, c) })
	}
	i.cpu(ctx)
	taking.Wait()
	for _, c := range []*contention{mutex, block} {
		if c.err == nil && len(c.during.Sample) == 0 && unswitched != nil && i.unrecorded(ctx, c.kind) {
			c.err = fmt.Errorf("the target has recorded none since it began, so runtime.%s is probably off; %w", c.rate, unswitched)
		}
	}
	if mutex.err == nil && block.err == nil && hidden(mutex.during, block.during) {
		mutex.err = errHidden
	}
	i.enterContention(mutex)
	i.enterContention(block)
}

// contend takes one of the two profiles. With seconds, net/http/pprof answers with the contention
// of that time, which the profile's duration shows. Other pages record for that time before they
// answer. A page that ignores seconds answers immediately, with the contention since its process
// began; then a second answer at the end of the time gives the difference. The same goes for a
// server whose time limit does not permit the length.
func (i *inspector) contend(ctx context.Context, c *contention) {
	begun := time.Now()
	var asked time.Time
	encoded, length, err := shorter(i.CPU, time.Second, func(seconds string, length time.Duration) ([]byte, error) {
		asked = time.Now()
		return i.fetch(ctx, PathPprof+c.kind+"?seconds="+seconds, length+pageWithin)
	})
	took := time.Since(asked)
	refused := tooLong(err)
	if refused {
		encoded, err = i.fetch(ctx, PathPprof+c.kind, pageWithin)
	}
	if c.during, c.err = parsed(encoded, err); c.err != nil {
		return
	}
	if !refused && (c.during.DurationNanos > 0 || took >= length) {
		c.over = length
		c.keepOwn()
		return
	}
	first := time.Now()
	pause(ctx, i.CPU-time.Since(begun))
	after, err := i.snapshot(ctx, c.kind)
	c.over = time.Since(first)
	if c.err = err; err == nil {
		c.end(after)
	}
}

// unrecorded reports whether the target has recorded nothing since its process began.
func (i *inspector) unrecorded(ctx context.Context, kind string) bool {
	p, err := i.snapshot(ctx, kind)
	return err == nil && len(p.Sample) == 0
}

// switchRates makes the target record contention if possible. It returns the function that restores
// the rates, and an error if they could not be switched.
func (i *inspector) switchRates(ctx context.Context) (restore func() error, err error) {
	if !i.Agent {
		return func() error { return nil }, errors.New("only the agent (import dyno/agent and serve it at /debug/dyno/) can switch it on for the time of a profile")
	}
	return RecordContention(ctx, i.Debug)
}

func (i *inspector) enterContention(c *contention) {
	var encoded bytes.Buffer
	if c.err == nil {
		c.err = c.during.Write(&encoded)
	}
	i.enter(c.kind, encoded.Bytes(), c.over, c.err)
}

func (i *inspector) snapshot(ctx context.Context, kind string) (*profile.Profile, error) {
	return parsed(i.fetch(ctx, PathPprof+kind, pageWithin))
}

func parsed(encoded []byte, err error) (*profile.Profile, error) {
	if err != nil {
		return nil, err
	}
	return record.ParseProfile(encoded)
}

// end computes the contention between two answers, of which during is the first.
func (c *contention) end(after *profile.Profile) {
	c.during.Scale(-1)
	p, err := profile.Merge([]*profile.Profile{c.during, after})
	if err != nil {
		c.err = fmt.Errorf("the two %s profiles cannot be compared: %w", c.kind, err)
		return
	}
	c.during = p
	c.keepOwn()
}

// keepOwn removes the samples of the debug handlers, and those that rounding made negative.
func (c *contention) keepOwn() {
	c.during.Sample = slices.DeleteFunc(c.during.Sample, func(s *profile.Sample) bool { return !grew(s) || observing(s) })
	c.during = c.during.Compact()
}

// errHidden is the reason of an incomplete mutex profile.
var errHidden = errors.New("it lacks a lock for which goroutines waited all the time since recording was switched on: " +
	"the runtime leaves those out; switch it on before the load begins, or use the block profile for the waiting code and the execution trace for the unlocking code")

// hidden reports whether goroutines waited much longer for locks than the mutex profile accounts
// for. Both profiles cover the same time: the mutex profile attributes it to the unlocking code,
// the block profile to the waiting code.
func hidden(mutex, block *profile.Profile) bool {
	const known = 0.1                                                                            // minimum share of the waiting time; sampling alone does not lose that much
	held := delay(mutex, func(leaf string) bool { return !strings.HasPrefix(leaf, "runtime.") }) // package runtime has its own locks
	waited := delay(block, func(leaf string) bool {
		return leaf == "sync.(*Mutex).Lock" || leaf == "sync.(*RWMutex).Lock" || leaf == "sync.(*RWMutex).RLock"
	})
	const little = 0.1e9 // ns; sampling may miss a shorter time entirely
	return waited > little && held < known*waited
}

// delay sums the delay of the stacks whose leaf is wanted, in ns.
func delay(p *profile.Profile, wanted func(leaf string) bool) float64 {
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == record.ValueDelay })
	sum := 0.0
	for _, s := range p.Sample {
		if at >= 0 && len(s.Location) > 0 && len(s.Location[0].Line) > 0 && s.Location[0].Line[0].Function != nil &&
			wanted(s.Location[0].Line[0].Function.Name) {
			sum += float64(s.Value[at])
		}
	}
	return sum
}

// grew reports whether no value of a sample is negative. Rounding can make a difference negative.
func grew(s *profile.Sample) bool {
	return !slices.ContainsFunc(s.Value, func(v int64) bool { return v < 0 })
}

// observing reports whether a stack belongs to the debug handlers themselves: the handler of the
// CPU profile waits until the profile ends.
func observing(s *profile.Sample) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if f := line.Function; f != nil && (strings.HasPrefix(f.Name, "net/http/pprof.") || strings.HasPrefix(f.Name, "dyno/agent.")) {
				return true
			}
		}
	}
	return false
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
