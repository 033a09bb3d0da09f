package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"dyno/lab/record"
)

// service is a simulated target: servers with exponential service times, on a machine whose speed
// varies.
type service struct {
	servers int
	mean    time.Duration // of a request's service
	// perRun is the standard deviation of ln(speed) between processes; drift is the step of a
	// random walk of the speed over runs; burst is the share of runs in which another process takes
	// half of the machine for burstFor.
	perRun, drift, burst float64
	burstFor             time.Duration
	constant             bool // evenly spaced arrivals instead of Poisson ones
}

// bench runs steps against a service, one fresh process each.
type bench struct {
	service
	rng   *rand.Rand
	level float64 // of the drift, ln(speed)
	runs  int
	// how long the executor waits for requests in flight at the end; 0: until they finish
	drain time.Duration
}

func newBench(s service, seed uint64) *bench {
	return &bench{service: s, rng: rand.New(rand.NewPCG(seed, 7))}
}

// run sends at a step's rate and returns the record, with totals and windows as the load generator
// fills them.
func (b *bench) run(step record.RunSpec, slo record.SLO, warmup time.Duration) *record.Run {
	b.runs++
	b.level += b.rng.NormFloat64() * b.drift
	speed := math.Exp(b.level + b.rng.NormFloat64()*b.perRun)
	from, until := warmup.Seconds(), (warmup + step.Length).Seconds()
	burstFrom := math.Inf(1)
	if b.rng.Float64() < b.burst {
		burstFrom = from + b.rng.Float64()*(until-from)
	}
	var (
		freeAt    = make([]float64, b.servers)
		window    = record.WindowLength.Seconds()
		stop      = until + b.drain.Seconds()
		windows   = make([]record.Window, int(math.Round(stop/window)))
		latencies = make([][]float64, len(windows))
		all       []float64
		totals    record.Totals
		at        float64
	)
	for {
		if b.constant {
			at += 1 / step.Rate
		} else {
			at += b.rng.ExpFloat64() / step.Rate
		}
		if at >= until {
			break
		}
		next := earliest(freeAt)
		begin := max(at, freeAt[next])
		took := b.rng.ExpFloat64() * b.mean.Seconds() / speed
		if begin >= burstFrom && begin < burstFrom+b.burstFor.Seconds() {
			took *= 2
		}
		end := begin + took
		freeAt[next] = end
		if at >= from {
			totals.Offered++
			totals.Sent++
		}
		windows[min(int(at/window), len(windows)-1)].Client.Offered++
		ms := (end - at) * 1e3
		if b.drain > 0 && end > stop {
			ms = (stop - at) * 1e3
			totals.Unfinished++
		}
		if end >= from {
			all = append(all, ms)
		}
		if w := int(end / window); w < len(windows) {
			windows[w].Client.Ended++
			latencies[w] = append(latencies[w], ms)
			if end >= from {
				totals.Ended++
				totals.Completed++
			}
		}
	}
	var open int64
	for i := range windows {
		w := &windows[i]
		w.Start = int64(float64(i) * window * 1e9)
		w.Phase = record.PhaseMeasure
		if float64(i)*window < from-1e-9 {
			w.Phase = record.PhaseWarmup
		}
		if float64(i)*window > until-1e-9 {
			w.Phase = record.PhaseDrain
		}
		slices.Sort(latencies[i])
		w.Client.P50Ms, w.Client.P99Ms = quantile(latencies[i], 0.5), quantile(latencies[i], 0.99)
		open += w.Client.Offered - w.Client.Ended
		w.Client.Backlog = open
	}
	slices.Sort(all)
	totals.OfferedPerS = float64(totals.Offered) / step.Length.Seconds()
	totals.ThroughputPerS = float64(totals.Ended) / step.Length.Seconds()
	totals.Response = record.Quantiles{P50: quantile(all, 0.5), P90: quantile(all, 0.9), P95: quantile(all, 0.95), P99: quantile(all, 0.99), P999: quantile(all, 0.999), Max: quantile(all, 1)}
	return &record.Run{Spec: step, SLO: slo, Load: record.LoadInfo{Model: "open"}, Totals: totals, Series: windows,
		Begin: int64(warmup), Length: step.Length}
}

// earliest is the server that is free first.
func earliest(freeAt []float64) int {
	first := 0
	for i := range freeAt {
		if freeAt[i] < freeAt[first] {
			first = i
		}
	}
	return first
}

// quantile is a quantile of sorted values; 0 of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
