package findings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dyno/lab/diagnose/autoscale"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/record"
)

// autoscaler finds wrong decisions of an autoscaler that goes by CPU: it scales too late or never
// if work ages while the CPU is idle, and needlessly if the CPU time is spent waiting.
func autoscaler(l *figures) []Finding {
	late, worst := Finding{}, 0
	for _, r := range l.counted {
		if r.Load.Model == "closed" {
			continue // the clients alone determine the length of its queue
		}
		if f, gap := l.tooLate(r); gap > worst {
			late, worst = f, gap
		}
	}
	if worst == 0 {
		late, worst = l.lateInTurns()
	}
	if worst > 0 {
		return []Finding{late}
	}
	return l.forNothing()
}

// lateInTurns returns the finding of the slice with the (lower) median gap among those that missed
// the SLO. Another process may make a single short slice miss it, so more than half of them must
// have a gap.
func (l *figures) lateInTurns() (Finding, int) {
	like := slices.Concat(l.counted, []*record.Run{l.Profiled})[0]
	if l.Experiment == nil || like == nil {
		return Finding{}, 0
	}
	missed := autoscale.Missed(l.Experiment, l.Variant, like)
	if len(missed) < leastMissed {
		return Finding{}, 0
	}
	late, gaps := make([]Finding, len(missed)), make([]int, len(missed))
	for i, r := range missed {
		late[i], gaps[i] = l.tooLate(r)
	}
	middle := slices.Sorted(slices.Values(gaps))[(len(gaps)-1)/2]
	return late[slices.Index(gaps, middle)], middle
}

// tooLate compares the replicas that the CPU asks for during a run with those that the gauges of
// its queues ask for; gap is how many the CPU does not ask for, or asks for too late.
func (l *figures) tooLate(r *record.Run) (f Finding, gap int) {
	curves := autoscale.Curves(r, l.cores(r))
	if len(curves) == 0 || curves[0].Signal != autoscale.CPU {
		return f, 0
	}
	cpu := curves[0]
	if queue, gap := autoscale.Late(cpu, curves[1:], r.Length); gap > 0 {
		return lateFinding(r, cpu, queue), gap
	}
	if len(curves) == 1 && cpu.Highest() < idleCPU {
		return missedAnyway(r, cpu)
	}
	return f, 0
}

func lateFinding(r *record.Run, cpu, queue autoscale.Curve) Finding {
	verb := "would never have scaled"
	if at, scaled := cpu.First(); scaled {
		needed, _ := queue.First()
		verb = fmt.Sprintf("would have scaled %.0f s later", (at - needed).Seconds())
	}
	return Finding{Kind: KindAutoscaler, worth: 0.3, // an incident under growth, not a loss now
		Text: fmt.Sprintf("At %s/s an autoscaler that goes by CPU (%s) %s, while %s asked for %d replicas: the CPU does not show the shortage.",
			digits(r.Totals.ThroughputPerS), percent(autoscale.TargetCPU), verb, queue.Signal, queue.Peak()),
		Evidence: []Evidence{{"replicas_by_cpu", float64(cpu.Peak()), "replicas", "highest number by the Kubernetes rule on CPU utilisation"},
			{"replicas_by_" + queue.Signal, float64(queue.Peak()), "replicas", fmt.Sprintf("highest number by the same rule on %s with a target of %s", queue.Signal, digits(queue.Target))},
			{"cpu_highest", round(cpu.Highest()), "of its cores", "used, highest mean between two decisions"}},
		Next: fmt.Sprintf("scale on %s (a HorizontalPodAutoscaler with an external metric and target %s), after making sure that a second replica helps: both replicas may wait for the same resource", queue.Signal, digits(queue.Target))}
}

// missedAnyway is for services without a gauge of their queue: it finds an SLO that is missed
// although the CPU asks for no further replica.
func missedAnyway(r *record.Run, cpu autoscale.Curve) (Finding, int) {
	for _, name := range []string{"p50", "p90", "p95", "p99", "p999", "max", "mean"} {
		got, _ := r.SLO.Observed(r.Totals).At(name)
		bound, has := r.SLO.Latency[name]
		if !has || got <= bound {
			continue
		}
		return Finding{Kind: KindAutoscaler, worth: 0.3,
			Text: fmt.Sprintf("At %s/s an autoscaler that goes by CPU (%s) would never have scaled, while %s was %s and not %s: the CPU does not show the shortage.",
				digits(r.Totals.ThroughputPerS), percent(autoscale.TargetCPU), name, micros(got*1000), micros(bound*1000)),
			Evidence: []Evidence{{"replicas_by_cpu", float64(cpu.Peak()), "replicas", "highest number by the Kubernetes rule on CPU utilisation"},
				{"cpu_highest", round(cpu.Highest()), "of its cores", "used, highest mean between two decisions"},
				{name, round(got), "ms", "above the SLO"}},
			Next: "have the service report the age of its oldest work (a gauge named ..._age_seconds), and scale on that"}, 1
	}
	return Finding{}, 0
}

// forNothing finds an autoscaler that would add replicas because of CPU time spent waiting.
func (l *figures) forNothing() []Finding {
	wasted := l.classes[stacks.Lock] + l.classes[stacks.Channel] + l.classes[stacks.Scheduler]
	if l.cpu == nil || wasted < spinShare {
		return nil
	}
	for _, r := range l.counted {
		curves := autoscale.Curves(r, l.cores(r))
		if len(curves) == 0 || curves[0].Signal != autoscale.CPU || curves[0].Peak() == 1 {
			continue
		}
		used := curves[0].Highest()
		computing := used * (1 - wasted)
		if autoscale.Desired(1, computing, autoscale.TargetCPU) > 1 {
			continue
		}
		return []Finding{{Kind: KindAutoscaler, worth: 0.2, // a cost, not a capacity
			Text: fmt.Sprintf("An autoscaler that goes by CPU (%s) would have scaled to %d replicas for nothing: %s of the CPU is used, and %s of that is spent waiting; computing takes %s.",
				percent(autoscale.TargetCPU), curves[0].Peak(), percent(used), percent(wasted), percent(computing)),
			Evidence: []Evidence{{"replicas_by_cpu", float64(curves[0].Peak()), "replicas", "highest number by the Kubernetes rule on CPU utilisation"},
				{"waiting_share", round(wasted), "of CPU time", "spent in locks, channels and the scheduler"},
				{"cpu_computing", round(computing), "of its cores", "used without that"}},
			Next: "fix the waiting first (see " + KindSpinning + "), then set the target by the remaining utilisation"}}
	}
	return nil
}

// connectionLimit compares the connections of the replicas that an autoscaler would start with the
// database's limit: each replica opens a pool.
func connectionLimit(l *figures) []Finding {
	const suffix = "_max_open"
	for _, r := range l.counted {
		if r.Totals.Server == nil {
			continue
		}
		replicas := 1
		for _, c := range autoscale.Curves(r, l.cores(r)) {
			replicas = max(replicas, c.Peak())
		}
		for _, gauge := range slices.Sorted(maps.Keys(r.Totals.Server.Gauges)) {
			name, limited := strings.CutSuffix(gauge, suffix)
			size := r.Totals.Server.Gauges[gauge]
			limit, by := float64(dbConnLimit), sqlDefaultBy
			if v := r.Totals.Server.Gauges[name+"_max_connections"]; v > 0 {
				limit, by = v, "the gauge "+name+"_max_connections"
			}
			if !limited || size <= 0 || float64(replicas)*size <= limit {
				continue
			}
			text := fmt.Sprintf("%d replicas with %s connections each are %s, more than the database's limit of %s (%s): from replica %d on, connecting fails.",
				replicas, digits(size), digits(float64(replicas)*size), digits(limit), by, int(limit/size)+1)
			if replicas == 1 {
				text = fmt.Sprintf("One replica's pool may already open %s connections, more than the database's limit of %s (%s).", digits(size), digits(limit), by)
			}
			// worth: above the limit, connecting fails
			return []Finding{{Kind: KindConnectLimit, worth: 0.4, Text: text,
				Evidence: []Evidence{{gauge, size, "connections", "that one replica's pool may open"},
					{"replicas", float64(replicas), "replicas", "that an autoscaler would have started"},
					{"connection_limit", limit, "connections", by}},
				Next: fmt.Sprintf("a smaller pool (at most %d at %d replicas) and dyno compare, or a pooler between (pgbouncer)", int(limit/float64(replicas)), replicas)}}
		}
	}
	return nil
}
