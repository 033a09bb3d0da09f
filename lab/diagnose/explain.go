package diagnose

import (
	"fmt"
	"math"
	"strings"

	"dyno/lab/diagnose/rules"
)

// StepChange is the change that a step of a ladder measured against the previous step.
type StepChange struct {
	Ratio     float64 // of the throughputs
	Low, High float64 // its 95% interval; both 0: none
	// Cost of a request, before and after; 0: unknown.
	CPU    [2]float64 // us
	Allocs [2]float64
	Bytes  [2]float64
}

// significant reports whether the interval excludes 1; without an interval, a change of a fifth
// counts.
func (m StepChange) significant() bool {
	if m.Low == 0 && m.High == 0 {
		return math.Abs(m.Ratio-1) >= 0.2
	}
	return m.Low > 1 || m.High < 1
}

// Explain explains why a step changed the throughput or did not: the bottleneck before, which
// costs the step changed, and the bottleneck now. It returns an empty text if a diagnosis is nil.
func Explain(before, after *Diagnosis, m StepChange) string {
	if before == nil || after == nil || m.Ratio <= 0 {
		return ""
	}
	costs, meanwhile := m.costs(), ""
	if costs != "" {
		meanwhile = " Meanwhile " + costs + "."
	}
	was, is := bottleneckText(before.Bottleneck, before.Kind, before.Signals), bottleneckText(after.Bottleneck, after.Kind, after.Signals)
	same := before.Bottleneck == after.Bottleneck && before.Kind == after.Kind
	var text string
	switch {
	case !m.significant() && before.Bottleneck == rules.Wait && costs != "":
		text = fmt.Sprintf("%s although %s: the bottleneck of the previous step is %s, not the cost of a request.", m.still(), costs, was)
	case before.Bottleneck == rules.Unknown && m.significant():
		text = m.change() + "; the bottleneck of the previous step is unknown." + meanwhile
	case !m.significant() && costs != "":
		text = fmt.Sprintf("%s although %s: the change is below the resolution of this measurement, or not at the bottleneck: %s.", m.still(), costs, was)
	case !m.significant():
		text = fmt.Sprintf("%s: the step changes neither the cost of a request nor the bottleneck: %s.", m.still(), was)
	case !same:
		text = fmt.Sprintf("%s: the bottleneck moved from %s to %s.", m.change(), was, is) + meanwhile
	case costs != "" && before.Bottleneck != rules.Wait:
		text = fmt.Sprintf("%s because %s, and that is the bottleneck before and after: %s.", m.change(), costs, was)
	default:
		text = fmt.Sprintf("%s while it stays bound by %s.", m.change(), is) + meanwhile
	}
	if after.Bottleneck != rules.Unknown && !same && !m.significant() {
		text += " It is now bound by " + is + "."
	}
	return text
}

func (m StepChange) change() string {
	if m.Ratio >= 1 {
		return fmt.Sprintf("It carries %.2fx as much", m.Ratio)
	}
	return fmt.Sprintf("It carries only %.2fx as much", m.Ratio)
}

// still describes a step without a significant change: equal, or not decided.
func (m StepChange) still() string {
	const equal = 0.02 // largest distance of the interval from 1
	if m.Low >= 1-equal && m.High > 0 && m.High <= 1+equal {
		return "It carries as much (within 2%)"
	}
	return "It is not decided whether it carries more"
}

// costs lists the costs of a request that changed by a tenth or more.
func (m StepChange) costs() string {
	const least = 0.1
	var texts []string
	say := func(what string, v [2]float64, unit string) {
		if v[0] <= 0 || v[1] <= 0 || math.Abs(v[1]/v[0]-1) < least {
			return
		}
		way := "falls"
		if v[1] > v[0] {
			way = "rises"
		}
		texts = append(texts, fmt.Sprintf("%s per request %s from %s to %s%s", what, way, figure(v[0]), figure(v[1]), unit))
	}
	say("CPU", m.CPU, " us")
	say("the number of allocations", m.Allocs, "")
	if len(texts) < 2 {
		say("the memory allocated", m.Bytes, " B")
	}
	return strings.Join(texts, " and ")
}

func figure(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2g", v)
	}
	return grouped(v)
}
