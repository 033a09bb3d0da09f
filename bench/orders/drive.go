package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"dyno/lab/capacity"
	"dyno/lab/load"
	"dyno/lab/load/raw"
	"dyno/lab/probe"
	"dyno/lab/record"
)

// load runs one steady load against a server in a fresh process. A step without a rate is of the closed model.
func (b *bench) load(ctx context.Context, side string, step record.Step, seed uint64) (r *record.Run, err error) {
	server, err := b.start(ctx, side)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(server)) }()
	driver, err := raw.New(raw.Config{Target: "http://" + server.Ready()["listen"], Corpus: b.requests, Realtime: true})
	if err != nil {
		return nil, err
	}
	watch, err := probe.Watch(ctx, b.beside(server.PID()))
	if err != nil {
		return nil, err
	}
	defer watch.Close()
	dir := filepath.Join(b.work, "run")
	defer os.RemoveAll(dir)
	w, err := record.Create(dir)
	if err != nil {
		return nil, err
	}
	defer holdGarbage()()
	totals, plan, err := load.Run(ctx, b.plan(step, seed), driver, w)
	r = &record.Run{Step: step, SLO: b.slo, Machine: b.machine, Totals: totals, Begin: plan.MeasureFrom(), Length: plan.Length,
		Load: record.Load{Model: "open", Engine: driver.Engine(), Connections: plan.Connections, Timeout: plan.Timeout, Seed: seed}}
	if !plan.Open() {
		r.Load.Model = "closed"
	}
	r.Environment = watch.Environment(plan.MeasureFrom(), plan.OfferUntil())
	r.Judge()
	if err := errors.Join(err, w.Close(r)); err != nil {
		return nil, err
	}
	return record.OpenRun(dir) // with its windows, which a verdict looks at
}

// beside says whom to watch: PostgreSQL is no neighbour.
func (b *bench) beside(pid int) probe.Options {
	return probe.Options{PID: pid, Companions: []int{b.database.process.PID()}, Self: os.Getpid()}
}

const (
	// drain is how long answers are awaited at the end, several times what the objective allows.
	drain = 100 * time.Millisecond
	// timeout of a request: as long as the servers give the database.
	timeout = 2 * time.Second
)

func (b *bench) plan(step record.Step, seed uint64) load.Plan {
	p := load.Plan{Connections: b.connections, Warmup: b.warmup, Length: step.Length, Drain: drain, Timeout: timeout}
	if step.Rate > 0 {
		p.Schedule = func() load.Schedule { return load.Poisson(step.Rate, b.warmup+step.Length, seed) }
	}
	return p
}

// garbage bounds what a run may leave uncollected, in bytes.
const garbage = 1 << 30

// holdGarbage keeps this process from collecting while it sends: it would send late. The returned function ends that.
func holdGarbage() (release func()) {
	runtime.GC()
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(garbage)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// tries is how often a run may turn out not to count, and calm how long to wait before the next.
const (
	tries = 2
	calm  = time.Second
)

// counted repeats a run that failed or does not count. Nil: all did, and why was said: the other sides can still be measured.
func (b *bench) counted(ctx context.Context, name string, run func() (*record.Run, error)) (*record.Run, error) {
	for try := 1; ; try++ {
		r, err := run()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b.counts.runs++
		if err == nil && r.Invalid == "" {
			return r, nil
		}
		b.counts.disturbed++
		switch {
		case err != nil:
			say("  %s: this run failed: %v", name, err)
		case b.quick: // nothing is claimed then
			r.Invalid = ""
			return r, nil
		default:
			say("  %s: this run does not count: %s", name, r.Invalid)
		}
		if try == tries {
			return nil, nil
		}
		select {
		case <-time.After(calm):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// peak is what a server answers in the closed model, per second; 0: it could not be measured.
func (b *bench) peak(ctx context.Context, side string) (float64, error) {
	r, err := b.counted(ctx, side, func() (*record.Run, error) { return b.load(ctx, side, record.Step{Length: b.length}, 0) })
	if err != nil || r == nil {
		return 0, err
	}
	// Without a schedule, as many as there are connections are always under way at the end: they did not fail.
	if t := r.Totals; float64(t.Failed) > b.slo.Errors*float64(t.Ended) {
		say("  %s: %d of %d requests failed: %v", side, t.Failed, t.Ended, t.Errors)
		return 0, nil
	}
	return r.Totals.AchievedPerS, nil
}

// longest is how many times the usual length a run of a search may have: the fewer requests a second, the longer it is.
const longest = 4

// capacity follows a search to its end; 0: it found nothing, and why was said.
func (b *bench) capacity(ctx context.Context, side string, s capacity.Search, seed uint64) (float64, error) {
	s.SLO, s.Length = b.slo, b.length
	var runs []*record.Run
	for {
		step, done := s.Next(runs)
		if done || step.Length > longest*b.length || b.over(1) {
			break // so low a rate is no capacity that can be compared
		}
		r, err := b.counted(ctx, side, func() (*record.Run, error) { return b.load(ctx, side, step, seed) })
		if err != nil || r == nil {
			return 0, err
		}
		runs = append(runs, r)
	}
	found, ok, why := capacity.Sample(runs, b.slo)
	if !ok {
		say("  %s: no capacity was found: %v", side, why)
		return 0, nil
	}
	return found, nil
}

// p99 is the 99th percentile of a server's latency at a rate, in ms; 0: it could not be measured.
func (b *bench) p99(ctx context.Context, side string, rate float64, seed uint64) (float64, error) {
	r, err := b.counted(ctx, side, func() (*record.Run, error) {
		return b.load(ctx, side, record.Step{Rate: rate, Length: b.length}, seed)
	})
	if err != nil || r == nil {
		return 0, err
	}
	if share := r.Totals.ErrorShare(); share > b.slo.Errors { // to refuse is quick
		say("  %s: %.2g%% of the requests failed: %v", side, 100*share, r.Totals.Errors)
		return 0, nil
	}
	return r.Totals.Response.P99, nil
}
