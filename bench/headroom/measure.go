package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"dyno/bench/calibrate/suite"
	"dyno/lab/experiment"
	"dyno/lab/probe/profiling"
	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
	"dyno/parts/process"
)

// observation is one forecast beside the truth.
type observation struct {
	Server   string  `json:"server"`
	Family   string  `json:"family"`
	Truth    string  `json:"truth"` // its known bound
	Schedule string  `json:"schedule"`
	Peak     float64 `json:"peak_per_s"` // the truth: what it served at most
	Rate     float64 `json:"rate_per_s"`
	Factor   float64 `json:"factor"` // Peak / Rate
	Others   float64 `json:"others"` // share of the machine, at most, in the runs behind this
	bracket
}

// subject is a server that runs.
type subject struct {
	suite.Server
	out     string // folder of the experiments
	process *process.Process
}

const (
	saturateFor = 4 * time.Second
	observeFor  = 9 * time.Second
	seed        = 1
)

// observe starts a server, finds its peak, and forecasts it from some shares of it.
func observe(ctx context.Context, s suite.Server, out string, shares []float64, schedules []string) ([]observation, error) {
	p, err := process.Start(ctx, process.Spec{Name: s.Name, ReadyLine: true, Command: append(s.Scenario(seed, "pprof").Target.Command, s.Scenario(seed, "pprof").Target.Args...)})
	if err != nil {
		return nil, err
	}
	defer p.Stop(time.Second)
	t := &subject{s, out, p}
	peak, busiest := 0.0, 0.0
	for _, clients := range []int{8, 32, 128} {
		r, err := t.load(ctx, fmt.Sprintf("closed-%d", clients), workload.Schedule{Kind: workload.Closed}, clients, saturateFor, nil)
		if err != nil {
			return nil, err
		}
		if r.Totals.ThroughputPerS > peak {
			peak, busiest = r.Totals.ThroughputPerS, othersOf(r)
		}
	}
	var all []observation
	for _, share := range shares {
		for _, schedule := range schedules {
			o, err := t.forecast(ctx, schedule, share*peak)
			if err != nil {
				return all, err
			}
			o.Peak, o.Factor, o.Others = peak, peak/o.Rate, max(o.Others, busiest)
			all = append(all, o)
		}
	}
	return all, nil
}

// forecast looks inside while the server has a rate.
func (t *subject) forecast(ctx context.Context, schedule string, rate float64) (observation, error) {
	how := workload.Schedule{Kind: workload.Poisson, Rate: rate}
	if schedule == bursty {
		how = bursts(rate, observeFor)
	}
	var trace *record.Trace
	var failed error
	r, err := t.load(ctx, schedule+"-"+strconv.Itoa(int(rate)), how, 128, observeFor, func(ctx context.Context, dir string) {
		_, trace, failed = profiling.Inspect(ctx, profiling.Inspection{Debug: profiling.Address{URL: t.process.Ready()["debug"]}, Dir: dir, CPU: 2 * time.Second, Trace: 500 * time.Millisecond})
	})
	if err = errors.Join(err, failed); err != nil {
		return observation{}, err
	}
	f := facts{
		rate: r.Totals.ThroughputPerS, cores: float64(r.Machine.Cores), others: r.System.OthersCPU,
		service: r.System.TargetCPU, generator: r.Totals.Generator.CPUSeconds / r.Length.Seconds(), trace: trace,
	}
	return observation{Server: t.Name, Family: t.Family, Truth: t.Truth, Schedule: schedule, Rate: f.rate, Others: othersOf(r), bracket: forecast(f)}, nil
}

func othersOf(r *record.Run) float64 { return r.System.OthersCPU / float64(max(1, r.Machine.Cores)) }

const bursty = "bursty"

// bursts sends most requests in every second fifth of a second.
func bursts(rate float64, length time.Duration) workload.Schedule {
	const part = 200 * time.Millisecond
	s := workload.Schedule{Kind: workload.Stepwise}
	for at := time.Duration(0); at < length; at += 2 * part {
		s.Stages = append(s.Stages, workload.Stage{Rate: 1.6 * rate, Length: part}, workload.Stage{Rate: 0.4 * rate, Length: part})
	}
	return s
}

// load sends one load, and calls during in its midst.
func (t *subject) load(ctx context.Context, name string, how workload.Schedule, clients int, length time.Duration, during func(ctx context.Context, dir string)) (*record.Run, error) {
	base := t.Scenario(seed, "pprof")
	ready := t.process.Ready()
	sc := &scenario.Scenario{
		Name: t.Name + "-" + name, Mode: record.KindLoad,
		Target:  scenario.Target{URL: "http://" + ready["listen"], Debug: "http://" + ready["debug"]},
		Load:    base.Load,
		Measure: scenario.Measure{Length: length, Warmup: 500 * time.Millisecond},
	}
	sc.Load.URL = "http://" + ready["listen"] + t.Path
	sc.Load.Schedule, sc.Load.Connections, sc.Load.MaxRate = how, clients, 0
	if how.Kind != workload.Closed {
		sc.Load.Think = 0
	}
	dir := filepath.Join(t.out, t.Name, name)
	var inside sync.WaitGroup
	if during != nil {
		inner, cancel := context.WithCancel(ctx)
		defer inside.Wait()
		defer cancel()
		profiles := dir + "-inside"
		if err := os.MkdirAll(profiles, 0o755); err != nil {
			return nil, err
		}
		inside.Go(func() {
			select {
			case <-time.After(2 * time.Second):
				during(inner, profiles)
			case <-inner.Done():
			}
		})
	}
	exp, err := experiment.Execute(ctx, experiment.Options{Scenario: sc, Out: dir, PID: t.process.PID()})
	if err != nil && !errors.Is(err, experiment.ErrUnfit) {
		return nil, err
	}
	inside.Wait()
	if len(exp.Runs) == 0 {
		return nil, fmt.Errorf("%s: no load was sent", sc.Name)
	}
	return exp.Runs[0], nil
}
