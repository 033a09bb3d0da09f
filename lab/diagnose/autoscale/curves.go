package autoscale

import (
	"maps"
	"slices"
	"strings"
	"time"

	"dyno/lab/record"
)

// Targets per replica.
const (
	TargetCPU = 0.80 // of its cores: the usual value of untuned deployments
	// targetAge is how old work may become, in s, if the SLO does not bound it: a client notices a
	// second.
	targetAge = 1.0
)

// CPU names the curve on CPU utilisation.
const CPU = "cpu"

// Age reports whether a gauge's name marks it as the age of the oldest work in a queue, in s.
func Age(gauge string) bool { return strings.HasSuffix(gauge, "_age_seconds") }

// Depth reports whether a gauge's name marks it as the number of items in a queue.
func Depth(gauge string) bool {
	return strings.HasSuffix(gauge, "_depth") || strings.HasSuffix(gauge, "_queue_length") || strings.HasSuffix(gauge, "_backlog")
}

// Curves replays an autoscaler on CPU and one on each gauge of a queue's age or depth, CPU first,
// then by name. cores is the number available to the process. A metric that was not recorded has
// no curve.
func Curves(r *record.Run, cores float64) []Curve {
	var out []Curve
	add := func(signal string, target float64, value func(record.Window) (float64, bool)) {
		if readings := Readings(r, value); len(readings) > 0 && target > 0 {
			out = append(out, Replay(signal, target, readings))
		}
	}
	if cores > 0 {
		add(CPU, TargetCPU, func(w record.Window) (float64, bool) {
			if w.Server == nil {
				return 0, false
			}
			return w.Server.CPU / cores, true
		})
	}
	for _, name := range gauges(r) {
		add(name, target(r, name), func(w record.Window) (float64, bool) {
			if w.Server == nil {
				return 0, false
			}
			v, seen := w.Server.Gauges[name]
			return v, seen
		})
	}
	return out
}

// lateShare is the shortest delay of CPU-based scaling that counts as late, as a share of a run.
const lateShare = 0.5

// Late compares the CPU's curve with those of the queues that ask for a second replica much
// earlier than the CPU, or although it never does. It returns the one whose peak exceeds the CPU's
// most, and by how many replicas (at least 1); missing is 0 if there is no such queue. length is
// the run's.
func Late(cpu Curve, queues []Curve, length time.Duration) (queue Curve, missing int) {
	for _, q := range queues {
		first, asked := q.First()
		begun, scaled := cpu.First()
		if !asked || scaled && (begun-first).Seconds() < lateShare*length.Seconds() {
			continue
		}
		if by := max(1, q.Peak()-cpu.Peak()); by > missing {
			queue, missing = q, by
		}
	}
	return queue, missing
}

// target is the value that a replica's queue may reach: its bound in the SLO, or else targetAge,
// for a depth the work that arrives within targetAge (Little's law).
func target(r *record.Run, gauge string) float64 {
	if limit, ok := r.SLO.Gauges[gauge]; ok {
		return limit
	}
	if Age(gauge) {
		return targetAge
	}
	return targetAge * r.Totals.ThroughputPerS
}

// gauges returns the names of a run's gauges that describe a queue.
func gauges(r *record.Run) []string {
	names := map[string]bool{}
	for _, w := range r.Series {
		if w.Server == nil {
			continue
		}
		for name := range w.Server.Gauges {
			if Age(name) || Depth(name) {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
