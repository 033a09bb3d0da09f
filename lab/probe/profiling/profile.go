// Package profiling is a client of a target's debug address, which serves the agent, net/http/pprof
// or both. It takes profiles and a short execution trace there, and writes them into the folder of
// the run. Both slow the target, so a run with profiles reports no latency.
//
// It is not for interpreting the answers (probe, record, diagnose), nor for targets without a debug
// address (perf). Inspect waits for the goroutines that it starts; Close ends the connections of a
// Client.
package profiling

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/pprof/profile"

	"dyno/lab/record"
	"dyno/lab/record/folder"
)

// Inspection says which profiles to take, and how.
type Inspection struct {
	Debug Address       // the target's debug address, which serves net/http/pprof
	Agent bool          // the address serves the agent too, which can switch the mutex and block profiles on for a while
	Dir   string        // the run's folder
	CPU   time.Duration // length of the CPU, mutex and block profiles, in whole seconds, rounded up; 0: 2 s
	Trace time.Duration // length of the execution trace; 0: 0.5 s
	// Goroutines is the maximum number of goroutines at which Inspect takes further goroutine
	// profiles: one of 10,000 goroutines stops the target for some 25 ms in total. 0: 10,000.
	Goroutines int
}

func (in Inspection) withDefaults() Inspection {
	if in.CPU <= 0 {
		in.CPU = 2 * time.Second
	}
	in.CPU = time.Duration(math.Ceil(in.CPU.Seconds())) * time.Second
	if in.Trace <= 0 {
		in.Trace = 500 * time.Millisecond
	}
	if in.Goroutines <= 0 {
		in.Goroutines = 10_000
	}
	return in
}

// Inspect takes profiles of the target, one after the other, and writes them into the folder of the
// run: a short execution trace, of which it keeps only the sums, or instead many goroutine profiles
// if there is no trace; goroutines and heap; CPU and contention over the same time; goroutines and
// heap again. It takes about as long as CPU and Trace together, plus a second. Latency in these
// windows must not be reported.
//
// What shows where requests wait comes first, and each page has a time limit of its own, so that a
// page that answers slowly, or not at all, does not cost the others.
//
// For a profile that could not be taken, the result has an entry with the reason and the fix.
// Inspect returns an error if it could take no profile, if ctx is done, or if it could not restore
// the target's settings; the result then has the profiles taken until then.
func Inspect(ctx context.Context, in Inspection) ([]record.ProfileFile, *record.Trace, error) {
	i := &inspector{Inspection: in.withDefaults(), client: New(in.Debug)}
	defer i.client.Close()
	trace := i.trace(ctx)
	goroutines := i.goroutines(ctx)
	if trace == nil {
		i.goroutinesOften(ctx, goroutines)
	}
	i.take(ctx, record.ProfileHeapStart, pathHeap, heapWithin)
	begun := time.Now()
	i.overTime(ctx)
	i.goroutinesAgain(ctx, goroutines)
	if i.take(ctx, record.ProfileHeap, pathHeap, heapWithin) != nil {
		i.files[len(i.files)-1].Seconds = time.Since(begun).Seconds()
	}
	if err := ctx.Err(); err != nil {
		return i.files, trace, fmt.Errorf("taking profiles: %w", err)
	}
	if i.taken == 0 && trace == nil {
		return i.files, nil, fmt.Errorf("no profile could be taken from %s: %s", i.Debug, i.files[0].Why)
	}
	if i.unrestored != nil {
		return i.files, trace, fmt.Errorf("the target goes on recording contention: %w", i.unrestored)
	}
	return i.files, trace, nil
}

// inspector is an inspection in progress. One goroutine enters files; the requests of several may
// be under way.
type inspector struct {
	Inspection
	client   *Client
	files    []record.ProfileFile
	taken    int // number of profiles written
	maxTrace int // bytes; 0: the constant

	unrestored error // why the target's rates could not be restored
}

// take takes a profile of one instant.
func (i *inspector) take(ctx context.Context, kind, path string, within time.Duration) []byte {
	encoded, err := i.fetch(ctx, path, within)
	i.enter(kind, encoded, 0, err)
	return encoded
}

// enter writes a profile and adds its entry; if there is none, the entry has the reason.
func (i *inspector) enter(kind string, encoded []byte, over time.Duration, err error) {
	file := record.ProfileFile{Kind: kind}
	if err == nil {
		file, err = folder.AddProfile(i.Dir, kind, encoded, over.Seconds())
	}
	if err != nil {
		file = record.ProfileFile{Kind: kind, Why: err.Error()}
	} else {
		i.taken++
	}
	i.files = append(i.files, file)
}

// goroutines takes the first profile of goroutines and returns their number.
func (i *inspector) goroutines(ctx context.Context) int64 {
	sum := int64(0)
	for _, n := range goroutinesOf(i.take(ctx, record.ProfileGoroStart, pathGoroutine, pageWithin)) {
		sum += n
	}
	return sum
}

func (i *inspector) goroutinesAgain(ctx context.Context, before int64) {
	if err := i.tooMany(before); err != nil {
		i.enter(record.ProfileGoroutine, nil, 0, err)
		return
	}
	i.take(ctx, record.ProfileGoroutine, pathGoroutine, pageWithin)
}

func (i *inspector) tooMany(goroutines int64) error {
	if goroutines <= int64(i.Goroutines) {
		return nil
	}
	return fmt.Errorf("there were %d goroutines, and putting together a profile of more than %d stops the target for too long; "+
		"that they grow in number shows in the samples", goroutines, i.Goroutines)
}

// Without an execution trace, Inspect takes several goroutine profiles instead. A goroutine that is
// busy half of the time is busy in 8 to 24 of 32 of them. They are far enough apart that most
// requests have made progress between two.
const (
	moments       = 32
	momentsApart  = 25 * time.Millisecond
	momentsWithin = 3 * time.Second // of all together; a busy target answers slowly, and then gives fewer
)

// goroutinesOften takes several goroutine profiles and merges them.
func (i *inspector) goroutinesOften(ctx context.Context, before int64) {
	err := i.tooMany(before)
	var all []*profile.Profile
	for begun := time.Now(); err == nil && len(all) < moments && time.Since(begun) < momentsWithin && ctx.Err() == nil; {
		var p *profile.Profile
		if p, err = i.snapshot(ctx, record.ProfileGoroutine); err == nil {
			all = append(all, p)
			pause(ctx, momentsApart)
		}
	}
	if len(all) == 0 {
		return // the entries of the single goroutine profiles have the reason
	}
	var encoded bytes.Buffer
	sum, err := profile.Merge(all)
	if err == nil {
		err = sum.Write(&encoded)
	}
	i.enter(record.ProfileGoroMany, encoded.Bytes(), 0, err)
	i.files[len(i.files)-1].Samples = len(all)
}

func (i *inspector) cpu(ctx context.Context) {
	encoded, length, err := i.over(ctx, pathCPU)
	i.enter(record.ProfileCPU, encoded, length, err)
}

// over reads a page that answers after a given time.
func (i *inspector) over(ctx context.Context, path string) ([]byte, time.Duration, error) {
	return shorter(i.CPU, time.Second, func(seconds string, length time.Duration) ([]byte, error) {
		return i.fetch(ctx, path+"?seconds="+seconds, length+pageWithin)
	})
}
