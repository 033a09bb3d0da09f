package capacity

import (
	"math"
	"testing"
	"time"

	"dyno/lab/record"
	"dyno/parts/quicktest"

	"gonum.org/v1/gonum/stat"
)

// Repeated searches of a simulated service, whose queue, noise, drift and disturbances differ in
// each run, must agree with one another and with the rate at which a quiet machine meets the SLO in
// half of its runs. All seeds are fixed: the result does not depend on the machine that runs the
// test. -v prints what the searches found and cost.
func TestSearchesOfANoisyServiceAgree(t *testing.T) {
	const (
		searches = 20
		length   = 1500 * time.Millisecond
		warmup   = 500 * time.Millisecond
	)
	two := service{servers: 2, mean: 500 * time.Microsecond}
	noisy := two
	noisy.perRun, noisy.drift, noisy.burst, noisy.burstFor = 0.02, 0.003, 0.05, 100*time.Millisecond
	eight := service{servers: 8, mean: 4 * time.Millisecond, perRun: 0.01}
	even := service{servers: 1, mean: 200 * time.Microsecond, constant: true, perRun: 0.01, burst: 0.05, burstFor: 100 * time.Millisecond}
	for _, c := range []struct {
		name    string
		service service
		p99     float64 // ms
		start   float64 // 1/s
		runs    float64 // upper bound of the mean number of runs per search
		spread  float64 // upper bound of the standard deviation of ln(capacity)
	}{
		{"two servers", two, 20, 1000, 9, 0.03},
		{"two servers, strict SLO", two, 5, 1000, 9.5, 0.04},
		{"two servers, neighbours and drift", noisy, 20, 1000, 9.5, 0.04},
		{"eight slow servers", eight, 30, 500, 9.5, 0.035},
		{"one server, evenly spaced offers, neighbours", even, 5, 1000, 10, 0.04},
	}[:quicktest.Of(2, 5)] {
		t.Run(c.name, func(t *testing.T) {
			slo := record.SLO{Latency: map[string]float64{"p99": c.p99}}
			truth := newBench(c.service, 1).truth(slo, length, warmup)
			search := Search{SLO: slo, Start: c.start, Length: length}
			var found, data sampleOf
			for seed := range uint64(searches) {
				b := newBench(c.service, seed)
				found.take(b.search(search, warmup), slo, truth)
				near := search
				near.Bracket = Around(truth * math.Exp(0.03*b.rng.NormFloat64()))
				data.take(b.search(near, warmup), slo, truth)
			}
			t.Logf("truth %5.0f/s; search: bias %+.1f%%, spread %.1f%%, %.1f runs; sample: bias %+.1f%%, spread %.1f%%, %.1f runs",
				truth, found.bias()*100, found.spread()*100, found.cost(), data.bias()*100, data.spread()*100, data.cost())
			if found.spread() > c.spread || math.Abs(found.bias()) > 0.03 || found.cost() > c.runs {
				t.Errorf("searches: bias %g, spread %g, %g runs", found.bias(), found.spread(), found.cost())
			}
			if data.spread() > c.spread*1.35 || math.Abs(data.bias()) > 0.03 || data.cost() > 2.8 {
				t.Errorf("data: bias %g, spread %g, %g runs", data.bias(), data.spread(), data.cost())
			}
			if found.lost+data.lost > 1 {
				t.Errorf("%d searches and %d data found nothing", found.lost, data.lost)
			}
		})
	}
}

// sampleOf holds the results of repeated searches.
type sampleOf struct {
	off  []float64 // ln(found/truth)
	runs []float64
	lost int
}

func (s *sampleOf) take(runs []*record.Run, slo record.SLO, truth float64) {
	s.runs = append(s.runs, float64(len(runs)))
	if v, ok, _ := Sample(runs, slo); ok {
		s.off = append(s.off, math.Log(v/truth))
	} else {
		s.lost++
	}
}

func (s *sampleOf) bias() float64   { return stat.Mean(s.off, nil) }
func (s *sampleOf) spread() float64 { return stat.StdDev(s.off, nil) }
func (s *sampleOf) cost() float64   { return stat.Mean(s.runs, nil) }
