package whatif

import (
	"fmt"
	"strconv"
)

// text states an estimate in a sentence, with the figures on which it rests.
func (f Facts) text(r Removal, e Estimate) string {
	cost := ""
	if r.CPU > 0 {
		cost = fmt.Sprintf("%.0f%% of the CPU time of a request is %s", 100*r.CPU, r.CPUOf)
	}
	switch {
	case e.Model == None && cost != "":
		return fmt.Sprintf("unknown how much more throughput, since a figure is missing: %s; %s.", e.Missing, cost)
	case e.Model == None:
		return fmt.Sprintf("unknown, since a figure is missing: %s.", e.Missing)
	case e.Model == Elsewhere && cost != "":
		return fmt.Sprintf("%s: %s, but %s bounds it.", f.atMost(e), cost, e.Then)
	case e.Model == Elsewhere && r.Time > 0:
		return fmt.Sprintf("%s, since %s bounds it; requests would take %.0f%% less time at most.", f.atMost(e), e.Then, 100*r.Time)
	case e.Model == Elsewhere:
		return fmt.Sprintf("%s, since %s bounds it.", f.atMost(e), e.Then)
	}
	text := f.atMost(e)
	if e.Alone > 0 {
		text += fmt.Sprintf(" (%s on CPUs of its own)", Times(e.Alone))
	}
	switch {
	case cost != "":
		text += ": " + cost
		if e.Model == Holder {
			text += ", and no more than now unless that is what the requests wait for"
		}
	case r.Part > 0 && r.PartOf != "":
		text += fmt.Sprintf(": %.0f%% of the time under the lock is spent %s", 100*r.Part, r.PartOf)
	}
	switch {
	case e.Then == "the CPU" && e.Model == Amdahl:
		return text + "; the CPU still bounds it" + f.next(r, e) + "."
	case e.Then == f.Name:
		return text + "; " + f.Name + " still bounds it."
	}
	const noticeable = 0.1 // of the machine
	if e.Then == "the CPU" && !f.ends(r) && f.CPU.Taken >= noticeable {
		return text + fmt.Sprintf("; then the CPU bounds it, of which other processes took %.0f%%.", 100*f.CPU.Taken)
	}
	return text + "; then " + e.Then + " bounds it."
}

// atMost states the ratio and what rises by it: the sessions if the load is connections that stay
// open, since each brings the same load.
func (f Facts) atMost(e Estimate) string {
	what := "throughput"
	if f.Sessions {
		what = "sessions"
	}
	return "at most " + Times(e.AtMost) + " the " + what
}

// next names the resource that would bound it after the CPU.
func (f Facts) next(r Removal, e Estimate) string {
	best := ceiling{times: 1e9}
	for _, o := range f.Others {
		if left := o.Busy - min(o.Computes, r.CPU*f.CPU.Target); left > 0 && 1/left < best.times {
			best = ceiling{1 / left, o.Name}
		}
	}
	if best.name == "" || best.times <= e.AtMost {
		return ""
	}
	return fmt.Sprintf(", and %s would at %s", best.name, Times(best.times))
}

// Times formats a ratio of throughputs.
func Times(v float64) string {
	if v >= 9.95 {
		return fmt.Sprintf("%.0fx", v)
	}
	return strconv.FormatFloat(v, 'f', precision(v), 64) + "x"
}

// precision keeps two decimals of small ratios, in which they matter.
func precision(v float64) int {
	if v < 2 {
		return 2
	}
	return 1
}
