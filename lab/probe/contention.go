package probe

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"dyno/agent"
	"dyno/lab/record"
)

// Rates at which contention is recorded while it is looked at. Of contended unlocks every tenth is enough:
// a lock that bounds a service is contended thousands of times a second. Blocking for less than 10 us is
// sampled in proportion; that is about what it costs to park a goroutine and wake it.
const (
	mutexFraction = 10
	blockRate     = 10_000 // ns
)

// contention is a profile that counts from the start of the process, if its rate is on.
type contention struct {
	kind   string
	rate   string // what switches it, in package runtime
	begun  time.Time
	before *profile.Profile
	err    error
}

// overTime takes the CPU profile, and what goroutines waited for during the same time.
func (i *inspector) overTime(ctx context.Context) {
	restore, unswitched := i.switchRates(ctx)
	defer restore()
	both := []*contention{
		{kind: record.ProfileMutex, rate: "SetMutexProfileFraction"},
		{kind: record.ProfileBlock, rate: "SetBlockProfileRate"},
	}
	for _, c := range both {
		c.begun = time.Now()
		c.before, c.err = i.snapshot(ctx, c.kind)
	}
	i.cpu(ctx)
	if both[0].err == nil || both[1].err == nil {
		// Without a CPU profile, as when another one was running, there is still contention to see.
		pause(ctx, time.Until(both[0].begun.Add(i.CPU)))
	}
	for _, c := range both {
		after, err := i.snapshot(ctx, c.kind)
		over := time.Since(c.begun)
		if c.err == nil {
			c.err = err
		}
		var encoded []byte
		if c.err == nil {
			encoded, c.err = c.until(after, unswitched)
		}
		i.enter(c.kind, encoded, over, c.err)
	}
}

// switchRates has contention recorded. It returns what restores the rates as they were, and why they could
// not be switched.
func (i *inspector) switchRates(ctx context.Context) (restore func(), err error) {
	if !i.Agent {
		return func() {}, fmt.Errorf("only the agent (import dyno/agent and serve it at /debug/dyno/) lets them be switched on for the time of a profile")
	}
	before, err := Control(ctx, i.Debug, i.Token, agent.Control{MutexFraction: new(mutexFraction), BlockRate: new(blockRate)})
	if err != nil {
		return func() {}, err
	}
	// Also when ctx has ended: the target goes on without us. Control sets itself a time limit.
	return func() { Control(context.WithoutCancel(ctx), i.Debug, i.Token, before) }, nil
}

func (i *inspector) snapshot(ctx context.Context, kind string) (*profile.Profile, error) {
	encoded, err := i.fetch(ctx, pathPprof+kind, profileWithin)
	if err != nil {
		return nil, err
	}
	return record.ParseProfile(encoded)
}

// until is what came since before, encoded. unswitched says why the rate could not be switched on.
func (c *contention) until(after *profile.Profile, unswitched error) ([]byte, error) {
	if len(after.Sample) == 0 && unswitched != nil {
		return nil, fmt.Errorf("the target has recorded none since it began, so runtime.%s is probably off; %w", c.rate, unswitched)
	}
	c.before.Scale(-1)
	p, err := profile.Merge([]*profile.Profile{c.before, after})
	if err != nil {
		return nil, fmt.Errorf("the two %s profiles cannot be compared: %w", c.kind, err)
	}
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool { return !grew(s) || observing(s) })
	var encoded bytes.Buffer
	if err := p.Compact().Write(&encoded); err != nil {
		return nil, err
	}
	return encoded.Bytes(), nil
}

// grew leaves out what has been rounded below zero.
func grew(s *profile.Sample) bool {
	return !slices.ContainsFunc(s.Value, func(v int64) bool { return v < 0 })
}

// observing says whether a stack belongs to those that answer us: the handler of the CPU profile itself
// waits for as long as it runs.
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
