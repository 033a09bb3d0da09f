// Package autoscale says what an autoscaler would have done, by running the rule of the Kubernetes
// Horizontal Pod Autoscaler over what a run recorded: once on CPU utilisation, and once on each gauge that
// tells how old or how deep a queue is. Where the two disagree, a CPU-based autoscaler scales for nothing,
// too late or never.
//
// A run is of one process. What its load would have been per replica is taken to be the recorded figure
// shared out evenly; that is right for the CPU and for a queue's depth as long as the process was not
// saturated, and a lower bound on the replicas where it was. The package is not for predicting how many
// replicas a service needs: what bounds it may be behind all of them. It starts no goroutines.
package autoscale

import (
	"math"
	"time"

	"dyno/lab/record"
)

// What Kubernetes does unless told otherwise (kubernetes.io, "Horizontal Pod Autoscaling" and the defaults
// of kube-controller-manager's --horizontal-pod-autoscaler-... flags).
const (
	syncPeriod    = 15 * time.Second  // between two decisions; the metrics are as old as that too
	tolerance     = 0.1               // of the ratio to the target, within which nothing is done
	stabilisation = 300 * time.Second // scaling down follows the highest recommendation of this long
	podsPerPeriod = 4                 // scaling up adds in a period at most these, or doubles if that is more
)

// Most is the largest number of replicas, as in the Kubernetes walkthrough; a cluster states its own.
const Most = 10

// Reading is a metric of the one recorded process at a moment.
type Reading struct {
	At    time.Duration // since the beginning of the measured time
	Value float64
}

// Point is a decision of the autoscaler.
type Point struct {
	At       time.Duration `json:"at_ns"`
	Metric   float64       `json:"metric"` // of the recorded process, mean since the decision before
	Replicas int           `json:"replicas"`
}

// Curve is the replicas that an autoscaler would have set, starting from one.
type Curve struct {
	Signal string  `json:"signal"` // cpu, or a gauge's name
	Target float64 `json:"target"` // per replica: a share of its cores, or in the gauge's unit
	Points []Point `json:"points"`
}

// Peak is the most replicas it asked for.
func (c Curve) Peak() int {
	peak := 1
	for _, p := range c.Points {
		peak = max(peak, p.Replicas)
	}
	return peak
}

// First is when it first asked for a second replica; false: never.
func (c Curve) First() (time.Duration, bool) {
	for _, p := range c.Points {
		if p.Replicas > 1 {
			return p.At, true
		}
	}
	return 0, false
}

// Desired is the Kubernetes formula: ceil(current * metric / target), where metric is the mean per replica,
// and current while the ratio lies within the tolerance.
func Desired(current int, metric, target float64) int {
	if target <= 0 || math.IsNaN(metric) || math.Abs(metric/target-1) <= tolerance {
		return current
	}
	want := math.Ceil(float64(current) * metric / target)
	return int(math.Max(1, math.Min(Most, want)))
}

// Replay runs the rule over readings, which are in order of time: a decision each 15 s and one at the end.
func Replay(signal string, target float64, readings []Reading) Curve {
	c := Curve{Signal: signal, Target: target}
	current, sum, n := 1, 0.0, 0
	var recommended []Point
	for i, r := range readings {
		sum, n = sum+r.Value, n+1
		if last := i == len(readings)-1; !last && readings[i+1].At < syncPeriod*time.Duration(len(c.Points)+1) {
			continue
		}
		metric := sum / float64(n)
		want := Desired(current, metric/float64(current), target)
		recommended = append(recommended, Point{At: r.At, Replicas: want})
		current = stabilised(current, want, r.At, recommended)
		c.Points = append(c.Points, Point{r.At, metric, current})
		sum, n = 0, 0
	}
	return c
}

// stabilised holds back what the formula wants.
func stabilised(current, want int, now time.Duration, recommended []Point) int {
	if want > current {
		return min(want, max(current+podsPerPeriod, 2*current))
	}
	// The recommendation from before the recording began is the one replica that there was.
	for _, p := range recommended {
		if now-p.At <= stabilisation {
			want = max(want, p.Replicas)
		}
	}
	return min(want, current)
}

// Readings takes a metric out of a run's measured windows; value reports false where it was not seen.
func Readings(r *record.Run, value func(record.Window) (float64, bool)) []Reading {
	var out []Reading
	for _, w := range r.Series {
		if w.Phase != record.PhaseMeasure {
			continue
		}
		if v, seen := value(w); seen {
			out = append(out, Reading{time.Duration(w.Start - r.Begin), v})
		}
	}
	return out
}
