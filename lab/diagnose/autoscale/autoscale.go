// Package autoscale computes what the Kubernetes Horizontal Pod Autoscaler would have done during a
// recorded run: once from CPU utilisation, and once from each gauge of a queue's age or depth.
// Where the two disagree, a CPU-based autoscaler scales for nothing, too late or never.
//
// A run is of one process. The load per replica is taken as the recorded figure divided evenly;
// that is right for the CPU and for a queue's depth as long as the process was not saturated, and a
// lower bound on the replicas where it was. The package is not for predicting how many replicas a
// service needs: its bottleneck may be behind all of them. It starts no goroutines.
package autoscale

import (
	"math"
	"time"

	"dyno/lab/record"
)

// Defaults of Kubernetes (kubernetes.io, "Horizontal Pod Autoscaling" and the defaults of
// kube-controller-manager's --horizontal-pod-autoscaler-... flags).
const (
	syncPeriod    = 15 * time.Second  // between two decisions; each uses the metric's mean over it
	tolerance     = 0.1               // relative distance from the target within which nothing changes
	stabilisation = 300 * time.Second // scaling down goes to the highest recommendation of this window
	podsPerPeriod = 4                 // most replicas added per period, unless doubling adds more
)

// Most is the largest number of replicas, as in the Kubernetes walkthrough; a cluster sets its own.
const Most = 10

// Reading is a metric of the one recorded process at a moment.
type Reading struct {
	At    time.Duration // since the start of the measured time
	Value float64
}

// Point is a decision of the autoscaler.
type Point struct {
	At       time.Duration `json:"at_ns"`
	Metric   float64       `json:"metric"` // of the recorded process, mean since the previous decision
	Replicas int           `json:"replicas"`
}

// Curve is the number of replicas that an autoscaler would have set, starting from one.
type Curve struct {
	Signal string  `json:"signal"` // cpu, or a gauge's name
	Target float64 `json:"target"` // per replica: a share of its cores, or in the gauge's unit
	Points []Point `json:"points"`
}

// Peak is the largest number of replicas.
func (c Curve) Peak() int {
	peak := 1
	for _, p := range c.Points {
		peak = max(peak, p.Replicas)
	}
	return peak
}

// Highest is the highest value of the metric.
func (c Curve) Highest() float64 {
	highest := 0.0
	for _, p := range c.Points {
		highest = max(highest, p.Metric)
	}
	return highest
}

// First is the time of the first decision for more than one replica; false: there is none.
func (c Curve) First() (time.Duration, bool) {
	for _, p := range c.Points {
		if p.Replicas > 1 {
			return p.At, true
		}
	}
	return 0, false
}

// Desired is the Kubernetes formula: ceil(current * metric / target), where metric is the mean per
// replica; current while the ratio is within the tolerance.
func Desired(current int, metric, target float64) int {
	if target <= 0 || math.IsNaN(metric) || math.Abs(metric/target-1) <= tolerance {
		return current
	}
	want := math.Ceil(float64(current) * metric / target)
	return int(math.Max(1, math.Min(Most, want)))
}

// Replay applies the rule to readings in order of time: a decision every 15 s and one at the end.
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

// stabilised limits the change of one decision, as Kubernetes does by default.
func stabilised(current, want int, now time.Duration, recommended []Point) int {
	if want > current {
		return min(want, max(current+podsPerPeriod, 2*current))
	}
	// Before the recording, the recommendation was one replica.
	for _, p := range recommended {
		if now-p.At <= stabilisation {
			want = max(want, p.Replicas)
		}
	}
	return min(want, current)
}

// Readings reads a metric from a run's measured windows; value returns false where it is missing.
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
