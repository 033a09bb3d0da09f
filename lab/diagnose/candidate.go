package diagnose

import (
	"cmp"
	"fmt"
	"strings"

	"dyno/lab/diagnose/facts"
	"dyno/lab/diagnose/findings"
	"dyno/lab/diagnose/rules"
	"dyno/lab/diagnose/stacks"
	"dyno/lab/diagnose/whatif"
)

// candidate is the verdict of the first rule that holds and was not refuted.
type candidate struct {
	d       Diagnosis
	rule    *rules.Rule // nil: no rule is left
	read, e evidence    // as read, and with what belongs to the verdict
	refuted []refutation
}

// ofVerdict is what candidate and sites add to the evidence.
type ofVerdict struct {
	spread      bool     // no function has much of the CPU time
	path        []string // functions through which the first site is reached; only if spread
	memoryLimit facts.MemoryLimit
}

// refutation is a verdict that does not hold, and why.
type refutation struct {
	rule  *rules.Rule
	d     Diagnosis
	why   string
	times float64 // the throughput: by the estimate without the cause, or measured by the experiment
}

// decide returns the verdict of the first rule that holds and that the estimate does not refute.
// While other processes take CPU, the estimate is not exact enough for that.
func (s Subject) decide(t rules.Thresholds, read evidence, refuted []refutation) candidate {
	for {
		c := s.candidate(t, read, refuted)
		why, run := c.d.contradicted(), cmp.Or(s.last(), s.Profiled)
		if c.rule == nil || why == "" || run == nil || Disturbed(run) {
			return c
		}
		refuted = append(refuted, refutation{c.rule, c.d, why, c.d.WhatIf.AtMost})
	}
}

func (s Subject) candidate(t rules.Thresholds, read evidence, refuted []refutation) candidate {
	var without []*rules.Rule
	for _, r := range refuted {
		without = append(without, r.rule)
	}
	e := read
	if run := cmp.Or(s.last(), s.Profiled); run != nil {
		e.memoryLimit = facts.AtMemoryLimit(run)
	}
	bound, rule, also := t.Decide(e.signals, without...)
	d := Diagnosis{Variant: s.Variant, Valid: true, Bottleneck: bound, Also: also, Signals: e.signals,
		Sites: []stacks.Site{}, Interventions: []Intervention{}, Findings: []findings.Finding{}, Unseen: []string{}, Warnings: []string{}}
	d.Unseen = append(d.Unseen, e.unseen...)
	if rule != nil {
		d.Kind = rule.Kind
	}
	if d.Kind == "" && bound == rules.Wait {
		d.Kind = string(e.top)
	}
	for _, r := range s.Saturated {
		d.PeakPerS = max(d.PeakPerS, facts.PerSecond(r))
	}
	d.Sites = append(d.Sites, e.sites(s, bound, d.Kind)...)
	d.unbranched = e.spread && e.nonGo == "" && len(d.Sites) > 0 && !d.Sites[0].Cumulative
	d.memoryLimit = e.memoryLimit
	d.Evidence = e.explain(t)
	d.Sheds = s.sheds()
	v := e.verdict(s, d)
	d.Text, d.Headline = v.Text(), v.headline()
	switch n := len(v.Behind); {
	case n > 0:
		d.behind = v.Behind[n-1].For
	case v.Holder != nil && bound == rules.Lock:
		d.behind = v.Holder.Awaits
	}
	d.estimate(s, e)
	for _, r := range refuted {
		d.Evidence = append(d.Evidence, r.evidence())
	}
	return candidate{d, rule, read, e, refuted}
}

// contradicted says why, by the estimate, the bottleneck is not the one of this verdict; empty: it may be.
func (d *Diagnosis) contradicted() string {
	const nothing = 1.05 // times the throughput: what brings no more is not what bounds it
	w := d.WhatIf
	partly := d.Bottleneck == rules.CPU || w != nil && w.Then == d.facts.Name // the estimate is for a part of the cause
	if w == nil || w.Model == whatif.None || partly || w.AtMost >= nothing {
		return ""
	}
	return fmt.Sprintf("by the estimate, the throughput would rise to %s at most without it: then %s bounds it", whatif.Times(w.AtMost), w.Then)
}

// overturned is the diagnosis if nothing is left but a verdict that was refuted.
func (r refutation) overturned() Diagnosis {
	d := r.d
	looked := lowerFirst(strings.TrimSuffix(d.Headline, "."))
	d.Headline = "What bounds it is unknown: it looked as if " + looked + ", but " + r.brief() + "."
	d.Text = "It looked as if " + lowerFirst(d.Text) + " But " + r.why + "."
	d.Also = rules.Union(d.Also, d.Bottleneck)
	d.Bottleneck, d.Kind = rules.Unknown, ""
	d.Evidence = append(d.Evidence, r.evidence())
	return d
}

// brief is why the verdict does not hold, without figures.
func (r refutation) brief() string {
	first, _, _ := strings.Cut(r.why, ":")
	return first
}

// evidence is the refuted verdict as a row.
func (r refutation) evidence() findings.Evidence {
	return findings.Evidence{Signal: "refuted", Value: rounded(r.times), Unit: "times the throughput",
		Means: causeText(r.d.Bottleneck, r.d.Kind) + " is not what bounds it: " + r.why}
}
