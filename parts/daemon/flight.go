package daemon

import (
	"context"
	"math"
	"runtime/debug"
	"time"

	"dyno/agent"
	"dyno/parts/daemon/inflection"
	"dyno/parts/debugpage"
)

// maxFlight is the longest that --flight-recorder may ask for; the agent bounds its bytes.
const maxFlight = time.Minute

// startFlight switches the flight recorder on if it was asked for.
func (p *process) startFlight() error {
	if p.options.flight == 0 {
		return nil
	}
	_, err := p.agent.Control(agent.Control{FlightRecorder: &agent.FlightRecorder{MinAge: p.options.flight.Seconds()}})
	return err
}

// Requests names the service's histogram of the time that requests took, in seconds. With
// --flight-recorder the process then watches it: at an inflection (package inflection) it keeps the
// execution trace of the time before, once. The histogram must be in Metrics.
func (e *Env) Requests(histogram string) {
	if e.watch != nil {
		e.watch(histogram)
	}
}

// watch follows a histogram of requests until reading ends. paused is how long the garbage collector has
// stopped the process so far.
func (p *process) watch(reading context.Context, env *Env, paused func() time.Duration) func(histogram string) {
	if p.options.flight == 0 {
		return nil
	}
	return func(histogram string) {
		w := &flightWatch{keep: p.agent.KeepFlight, process: p}
		r := debugpage.NewRecent([]debugpage.Figure{
			{Kind: debugpage.Rate, Metric: histogram + "_count"},
			{Kind: debugpage.P99, Metric: histogram},
		}, env.Metrics)
		r.Each(func(values []float64) { w.add(values[0], values[1], time.Now(), paused()) })
		p.readings.Go(func() { r.Run(reading) })
	}
}

// pausedFor returns the time that the garbage collector has stopped the process so far.
func pausedFor() time.Duration {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return s.PauseTotal
}

// flightWatch keeps the flight recorder's window at the first inflection.
type flightWatch struct {
	keep     func() (kept bool, err error)
	process  *process
	detector inflection.Detector
	at       time.Time // of the last reading; zero: there was none
	paused   time.Duration
	failed   bool // the window of this inflection could not be kept
}

// add takes the rate and the P99 (s) of requests until a time, and how long the process had been
// paused by then.
func (w *flightWatch) add(rate, p99 float64, at time.Time, paused time.Duration) {
	since, pauses := at.Sub(w.at), paused-w.paused
	first := w.at.IsZero()
	w.at, w.paused = at, paused
	if first || since <= 0 || math.IsNaN(rate) { // a rate needs two readings
		return
	}
	found, yes := w.detector.Add(inflection.Reading{Rate: rate, P99: p99, Pauses: pauses.Seconds() / since.Seconds()})
	if !yes {
		w.failed = false
		return
	}
	switch kept, err := w.keep(); {
	case err != nil && w.failed: // it is said once
	case err != nil:
		w.failed = true
		w.process.log.Warn("the service tips over, and the trace of the time before could not be kept", "what", found.String(), "error", err.Error())
	case kept:
		w.process.log.Warn("the service tips over; the trace of the time before is kept: download it from the debug address, and open it with go tool trace", "what", found.String(), "path", agent.PathKept)
	}
}
