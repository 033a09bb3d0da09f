package turns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"dyno/agent/monotonic"
	"dyno/lab/capacity"
	"dyno/lab/experiment/environment"
	"dyno/lab/experiment/generator"
	"dyno/lab/load"
	"dyno/lab/probe"
	"dyno/lab/probe/usage"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// sliceLead is the least time for making connections before a slice. Each connection adds
	// connectTime or, with TLS, handshakeTime.
	sliceLead     = 20 * time.Millisecond
	connectTime   = 200 * time.Microsecond
	handshakeTime = 4 * time.Millisecond
	// workLength is the intended length of a work slice: long enough that its beginning and end
	// hardly matter, short enough that eight variants have their turn within 3 s.
	workLength = 300 * time.Millisecond
	// longWork bounds a work slice of a slow target in which each connection carries two
	// requests.
	longWork = 2 * time.Second
	// workSpare bounds a work slice as a multiple of its expected length. firstLimit bounds the
	// slices from which that length is learnt.
	workSpare  = 8
	firstLimit = 3 * time.Second
	// trialLength is the shortest length of an SLO slice: its eight windows suffice to show a
	// trend. A slice lasts until it has trialRequests, which a p99 needs, but not longer than
	// trialLimit.
	trialLength   = 800 * time.Millisecond
	trialRequests = 250
	trialLimit    = 30 * time.Second
)

// plan returns the part of the plan that all slices of an instance share.
func (s *instance) plan() load.Plan {
	p := s.turns.gen.Base(s.variant)
	p.Classes, p.FirstSeq, p.Lead = s.requests.Classes, s.seq, s.lead(p.Connections)
	p.Drain = min(generator.LongestDrain, p.Timeout) // independent of the SLO: the next slice must begin with an empty queue
	return p
}

// lead returns the time before a slice in which its connections are made.
func (s *instance) lead(connections int) time.Duration {
	each := connectTime
	if strings.HasPrefix(s.run.Load.URL, "https:") || strings.HasPrefix(s.run.Load.URL, "wss:") {
		each = handshakeTime
	}
	return min(sliceLead+time.Duration(connections)*each, time.Second)
}

// runFixed drives a work slice with a given number of requests, for no longer than limit. Only
// errors of the lab itself are returned and end the experiment; the target's failures are in the
// slice.
func (s *instance) runFixed(ctx context.Context, requests int64, limit time.Duration) (record.Slice, error) {
	p := s.plan()
	p.Count, p.Connections, p.Length = requests, min(p.Connections, int(requests)), limit
	out := s.slice(record.SliceWork)
	totals, carried, before, err := s.send(ctx, p, nil, int(p.Count))
	if failed := (*load.GeneratorError)(nil); errors.As(err, &failed) {
		out.Invalid = failed.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	environment.AwaitIdle(ctx, s.meter)
	s.account(&out, totals, s.meter.Read().Since(before))
	out.Start, out.Length = carried.Start, time.Duration(carried.Last-carried.Start)
	if totals.Unfinished+totals.Undelivered > 0 || carried.Last == 0 {
		out.Length = max(out.Length, p.Length) // unanswered requests took longer than this
	}
	s.noSuccess = generator.NoSuccess(totals, s.requests.Notes())
	if out.Served == 0 {
		out.Invalid = cmp.Or(s.noSuccess, generator.ErrNoSuccess.Error()+generator.TopError(totals))
	}
	if totals.Generator.BusiestThread >= record.GeneratorBusy {
		out.Limited = fmt.Sprintf("its busiest thread used %.0f%% of a core", totals.Generator.BusiestThread*100)
	}
	return out, nil
}

// trialTime returns the length of an SLO slice at a rate.
func trialTime(rate float64) time.Duration {
	seconds := max(trialLength.Seconds(), trialRequests/rate)
	length := min(time.Duration(seconds*float64(time.Second)), trialLimit)
	return (length + record.WindowLength - 1) / record.WindowLength * record.WindowLength
}

// runAtRate drives an SLO slice at a rate.
func (s *instance) runAtRate(ctx context.Context, rate float64, round int) (record.Slice, error) {
	p := s.plan()
	seed := s.turns.seedOfSlice(round)
	p.Length = trialTime(rate)
	s.turns.gen.WithThinkTimes(&p, s.variant)
	requests, span := rate/float64(p.Units), p.Warmup+p.Length // per second
	p.Follow(load.ScheduleSpec{Kind: workload.Poisson, PerSecond: requests, Length: span, Seed: seed})
	if s.turns.scenario.Load.Schedule.Kind == workload.Constant {
		p.Follow(load.ScheduleSpec{Kind: workload.Constant, PerSecond: requests, Length: span})
	}
	out := s.slice(record.SliceSLO)
	out.Rate = rate
	// s.meter reads the process's usage, so the watcher need not: reading all threads ten times a
	// second would cost more than a slice can spare.
	watch, err := probe.Watch(ctx, probe.Options{Debug: s.debug})
	if err != nil {
		return out, fmt.Errorf("watching the target: %w", err)
	}
	defer watch.Close()
	seen := &seen{watch: watch}
	totals, carried, before, err := s.send(ctx, p, seen, generator.MostUnacked(rate))
	if failed := (*load.GeneratorError)(nil); errors.As(err, &failed) {
		out.Invalid = failed.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	environment.AwaitIdle(ctx, s.meter)
	s.account(&out, totals, s.meter.Read().Since(before))
	counted := p.Length.Seconds() / span.Seconds() // the share of the requests that are counted
	for _, seconds := range []*float64{&out.TargetCPU, &out.TargetDelay, &out.DependencyCPU, &out.GeneratorCPU} {
		*seconds *= counted
	}
	out.Start, out.Length = carried.MeasureFrom(), carried.Length
	r := *s.run
	r.Load.Model, r.Spec.Rate, r.Spec.Length = "open", rate, carried.Length
	r.Begin, r.Length, r.Totals, r.Series = carried.MeasureFrom(), carried.Length, totals, seen.series
	r.Totals.Server = watch.Totals(carried.MeasureFrom(), carried.SendUntil(), served(&r))
	if t := r.Totals.Server; t != nil && t.AllocsPerRequest >= 0 {
		out.Allocs, out.AllocBytes = t.AllocsPerRequest*float64(served(&r)), t.BytesPerRequest*float64(served(&r))
		out.MutexWait, out.GCPause = t.MutexWait*r.Length.Seconds(), paused(seen.series)
	}
	capacity.CheckSlice(&out, &r)
	if !out.Met && out.Inconclusive == "" {
		out.Limited = s.byGenerator(&r)
	}
	if seen.profiled {
		out.Inconclusive = "a profile was being taken of the target"
	}
	return out, nil
}

// paused is the time in which the collector stopped the target's goroutines within the measured
// windows, in seconds.
func paused(series []record.Window) (seconds float64) {
	for _, w := range series {
		if w.Phase == record.PhaseMeasure && w.Server != nil {
			seconds += w.Server.GCPauseMs / 1000
		}
	}
	return seconds
}

// byGenerator explains why the load generator, not the target, may be the reason that an SLO
// slice missed the SLO; empty: it is not. It is not called for an SLO that was met: latency
// counts from the intended time, so the generator cannot make it too low.
func (s *instance) byGenerator(r *record.Run) string {
	bound := math.Inf(1)
	for _, ms := range r.SLO.Latency {
		bound = min(bound, ms)
	}
	const share = 0.5 // of the permitted latency
	if lag, late := r.Totals.Lateness(); lag > share*bound {
		return fmt.Sprintf("%s sent late: p99 %.1f ms", late, lag)
	}
	return ""
}

// slice returns an empty slice that begins now; the caller corrects its start when the load has
// begun.
func (s *instance) slice(kind string) record.Slice {
	return record.Slice{Start: monotonic.Now(), Kind: kind, Role: s.arm.Role, Variant: s.arm.Variant, Generation: s.run.Spec.Round, Allocs: -1, AllocBytes: -1}
}

// send carries out a slice's plan. It also returns the usage at the plan's start, when the
// connections had been made. A failing target is a result; an error is the lab's own.
func (s *instance) send(ctx context.Context, p load.Plan, sink load.Sink, deliveries int) (record.Totals, *load.Plan, usage.Sum, error) {
	follow, end, err := s.turns.gen.Deliveries(ctx, s.testbed, &s.requests)
	if err != nil {
		return record.Totals{}, nil, usage.Sum{}, err
	}
	defer end()
	if follow != nil {
		p.Deliveries = max(deliveries, 1)
	}
	if sink == nil {
		sink = nowhere{}
	}
	before := s.meter.Read()
	p.Start = monotonic.Now() + int64(p.Lead)
	if p.Count == 0 { // as load.Run does, for the windows
		p.Start = (p.Start/int64(record.WindowLength) + 1) * int64(record.WindowLength)
	}
	read := make(chan usage.Sum, 1)
	timer := time.AfterFunc(time.Duration(p.Start-monotonic.Now()), func() { read <- s.meter.Read() })
	totals, carried, err := load.Run(ctx, p, s.requests.Driver, sink, follow...)
	if !timer.Stop() {
		before = <-read
	}
	s.seq = carried.NextSeq
	return totals, carried, before, err
}

// account stores the outcomes of a slice's requests and what they cost.
func (s *instance) account(out *record.Slice, t record.Totals, used usage.Sum) {
	out.Offered, out.Unfinished, out.Failed = t.Offered, t.Unfinished, t.Failed
	out.Served = t.Ended - t.Failed
	if s.run.SLO.On == record.OnDelivery {
		out.Failed += max(0, t.Undelivered-t.Unfinished)
		out.Served = t.Delivered
	}
	out.TargetCPU, out.TargetDelay, out.DependencyCPU, out.GeneratorCPU = used.Target, used.Delay, used.Dependencies, used.Self
	out.Steal, out.Others = s.meter.Shares(used)
	out.RSS = s.meter.RSS()
}

// seen keeps the windows of a slice, with the readings of the target for each.
type seen struct {
	watch    *probe.Watcher
	series   []record.Window
	profiled bool
}

func (s *seen) Window(w record.Window, _ map[string]*hdrhistogram.Histogram) error {
	w.Server = s.watch.Server(w.Start, environment.ReadWait)
	s.profiled = s.profiled || w.Server != nil && w.Server.Profiling
	s.series = append(s.series, w)
	return nil
}

// nowhere is the sink of a slice that needs only the totals.
type nowhere struct{}

func (nowhere) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// served returns the number of requests that the target worked on, for its cost per request.
func served(r *record.Run) int64 {
	return int64(r.Totals.ThroughputPerS * r.Length.Seconds())
}
